package exec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/exec"
	"taskrun/drivers/rawexec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New:     func() drivers.Driver { return exec.New() },
		Script:  func(s drivertest.Script) string { return shell(drivertest.Shell(s)) },
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
	})
}

// shell returns the config block of a task that runs a script.
func shell(script string) string {
	return fmt.Sprintf("command = \"/bin/sh\"\nargs = [\"-c\", %q]\n", script)
}

// begin returns a driver that is shut down at the end.
func begin(t *testing.T) *rawexec.Driver {
	t.Helper()
	d := exec.New()
	t.Cleanup(func() {
		if n, err := d.Shutdown(t.Context()); n != 0 || err != nil && !errors.Is(err, t.Context().Err()) {
			t.Errorf("at the end the driver killed %d processes: %v", n, err)
		}
	})
	return d
}

// says runs a task to its end and returns its output.
func says(t *testing.T, d drivers.Driver, config string, prepare func(*drivers.TaskConfig)) string {
	t.Helper()
	cfg, output := drivertest.Task(t, d, config)
	if prepare != nil {
		prepare(cfg)
	}
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ch, err := d.WaitTask(t.Context(), cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	if result := <-ch; !result.Successful() {
		t.Errorf("the result is %+v", result)
	}
	stdout, _, err := output.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Error(err)
	}
	return stdout
}

func TestIsolationOptionsAreAccepted(t *testing.T) {
	t.Parallel()
	config := "pid_mode = \"private\"\nipc_mode = \"host\"\ncap_add = [\"net_admin\"]\ncap_drop = [\"all\"]\n" + shell("echo hello")
	if got := says(t, begin(t), config, nil); got != "hello\n" {
		t.Errorf("it said %q", got)
	}
}

// A directory is relative to the task's, if it exists there.
func TestWorkDir(t *testing.T) {
	t.Parallel()
	d := begin(t)
	inside := ""
	got := says(t, d, "work_dir = \"/local\"\n"+shell("pwd"), func(cfg *drivers.TaskConfig) {
		inside = filepath.Join(cfg.TaskDir(), "local")
	})
	if inside, _ = filepath.EvalSymlinks(inside); got != inside+"\n" {
		t.Errorf("inside it said %q, not %q", got, inside)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := says(t, d, fmt.Sprintf("work_dir = %q\n", outside)+shell("pwd"), nil); got != outside+"\n" {
		t.Errorf("outside it said %q, not %q", got, outside)
	}
}

func TestUserIsTheCaller(t *testing.T) {
	t.Parallel()
	if got, want := says(t, begin(t), shell("id -u"), nil), fmt.Sprintln(os.Geteuid()); got != want {
		t.Errorf("it runs as %s, not %s", got, want)
	}
}

// TestCommandIsRequired checks that the schema requires it, so that validation
// reports a missing one.
func TestCommandIsRequired(t *testing.T) {
	t.Parallel()
	_, diags := hcldec.Decode(hcl.EmptyBody(), exec.New().TaskConfigSchema(), nil)
	if !diags.HasErrors() || !strings.Contains(diags.Error(), `"command"`) {
		t.Errorf("without a command: %v", diags)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	d := begin(t)
	for config, want := range map[string]string{
		"pid_mode = \"shared\"\n" + shell("true"): `pid_mode must be "private" or "host", got "shared"`,
		"ipc_mode = \"x\"\n" + shell("true"):      `ipc_mode must be "private" or "host", got "x"`,
		"work_dir = \"local\"\n" + shell("true"):  "work_dir must be an absolute path",
		`command = "no-such-program"`:             `binary "no-such-program" could not be found`,
		`command = ""`:                            "command must not be empty",
	} {
		cfg, _ := drivertest.Task(t, d, config)
		if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s the error is %v", config, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	d := begin(t)
	options := fmt.Sprintf("denied_host_uids = \"%d\"", os.Geteuid())
	if err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), options)); err != nil {
		t.Fatal(err)
	}
	cfg, _ := drivertest.Task(t, d, shell("true"))
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "is disallowed") {
		t.Errorf("as a denied user the error is %v", err)
	}
}
