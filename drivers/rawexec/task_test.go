package rawexec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sys/unix"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

// patience limits every wait.
const patience = time.Minute

// fixture is a task with its own driver.
type fixture struct {
	*testing.T
	ctx    context.Context
	driver *rawexec.Driver
	cfg    *drivers.TaskConfig
	output *drivertest.Output
}

func newFixture(t *testing.T, config string) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("it took too long"))
	driver, err := configured(t, `denied_envvars = ["SECRET_*"]`)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, ctx: ctx, driver: driver}
	f.cfg, f.output = drivertest.Task(t, f.driver, config)
	t.Cleanup(func() {
		defer cancel()
		if err := f.driver.DestroyTask(f.cfg.ID, true); err != nil && err != drivers.ErrTaskNotFound {
			t.Error(err)
		}
		if n, err := f.driver.Shutdown(ctx); n != 0 || err != nil {
			t.Errorf("at the end the driver killed %d processes: %v", n, err)
		}
	})
	return f
}

// start starts the task.
func (f *fixture) start() *fixture {
	f.Helper()
	if _, _, err := f.driver.StartTask(f.ctx, f.cfg); err != nil {
		f.Fatal(err)
	}
	return f
}

// ready starts the task and waits until it has written "ready".
func (f *fixture) ready() *fixture {
	f.Helper()
	f.start()
	if err := f.output.Await(f.ctx, "ready"); err != nil {
		f.Fatal(err)
	}
	return f
}

// mustFail checks that starting the task fails, with an error that contains all
// parts.
func (f *fixture) mustFail(parts ...string) {
	f.Helper()
	_, _, err := f.driver.StartTask(f.ctx, f.cfg)
	if err == nil {
		f.Fatal("the task started")
	}
	if drivers.IsRecoverable(err) {
		f.Errorf("the error is recoverable: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			f.Errorf("the error is %q, it should have %q", err, part)
		}
	}
}

func (f *fixture) result() *drivers.ExitResult {
	f.Helper()
	ch, err := f.driver.WaitTask(f.ctx, f.cfg.ID)
	if err != nil {
		f.Fatal(err)
	}
	result := <-ch
	if result == nil {
		f.Fatal("the task did not end")
	}
	return result
}

// stdout returns the output of the task once none of its processes is running.
func (f *fixture) stdout() string {
	f.Helper()
	stdout, stderr, err := f.output.All(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	if stderr != "" {
		f.Errorf("to stderr was written %q", stderr)
	}
	return stdout
}

func (f *fixture) pid() int {
	f.Helper()
	status, err := f.driver.InspectTask(f.cfg.ID)
	if err != nil {
		f.Fatal(err)
	}
	pid, err := strconv.Atoi(status.Attributes["pid"])
	if err != nil {
		f.Fatal(err)
	}
	return pid
}

// How a task ends, on its own or stopped; the codes are those that Nomad reports.
func TestResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		stop   string        // signal to stop it with; "": let it end
		grace  time.Duration // before it is killed
		code   int
		signal int
	}{
		"success":          {script: "exit 0"},
		"exit code":        {script: "exit 42", code: 42},
		"dies by signal":   {script: "kill -9 $$", code: 137, signal: 9},
		"interrupted":      {script: "echo ready; exec sleep 1000", stop: "SIGINT", grace: patience, code: 130, signal: 2},
		"terminated":       {script: "echo ready; exec sleep 1000", stop: "SIGTERM", grace: patience, code: 143, signal: 15},
		"own code":         {script: `trap "exit 9" USR1; echo ready; while :; do sleep 0.01; done`, stop: "SIGUSR1", grace: patience, code: 9},
		"kill timeout":     {script: `trap "" INT TERM; echo ready; while :; do sleep 0.01; done`, stop: "SIGINT", grace: 20 * time.Millisecond, code: 137, signal: 9},
		"no grace":         {script: `trap "exit 1" INT; echo ready; while :; do sleep 0.01; done`, stop: "SIGINT", code: 137, signal: 9},
		"stop tree":        {script: `(setsid sleep 1000 &); sleep 1000 & sh -c "echo ready; exec sleep 1000"; :`, stop: "SIGINT", grace: 20 * time.Millisecond, code: 137, signal: 9},
		"children survive": {script: `trap "exit 3" TERM; (trap "" TERM; sleep 1000) & setsid env -i sleep 1000 & echo ready; wait`, stop: "SIGTERM", grace: patience, code: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, shell(c.script))
			if f.start(); c.stop != "" {
				if err := f.output.Await(f.ctx, "ready"); err != nil {
					t.Fatal(err)
				}
				if err := f.driver.StopTask(f.ctx, f.cfg.ID, c.grace, c.stop); err != nil {
					t.Fatal(err)
				}
			}
			if result := f.result(); result.ExitCode != c.code || result.Signal != c.signal || result.Err != nil || result.OOMKilled {
				t.Errorf("the result is %+v, not code %d, signal %d", result, c.code, c.signal)
			}
			f.stdout() // all processes that had it open have ended
		})
	}
}

func TestStopWithUnknownSignal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("echo ready; exec sleep 1000")).ready()
	if err := f.driver.StopTask(f.ctx, f.cfg.ID, patience, "sigterm"); err == nil || !strings.Contains(err.Error(), `write "SIGTERM"`) {
		t.Errorf("the error is %v", err)
	}
	if status, err := f.driver.InspectTask(f.cfg.ID); err != nil || status.State != drivers.TaskStateRunning {
		t.Errorf("the task is %+v, %v", status, err)
	}
}

// A signal is sent only to the command's process.
func TestSignal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(`trap "echo main; kill -9 \$child; wait; exit" USR1
		sh -c 'trap "echo child" USR1; : > trapped; while :; do sleep 0.01; done' & child=$!
		until [ -e trapped ]; do sleep 0.01; done
		echo ready
		while :; do wait; done`)).ready()
	if err := f.driver.SignalTask(f.cfg.ID, "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	f.result()
	if got := f.stdout(); got != "ready\nmain\n" {
		t.Errorf("it wrote %q", got)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(`cat; pwd; echo ready; exec sleep 1000`)).ready() // cat ends because its input is empty
	pid := f.pid()
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("process %d is in session %d: %v", pid, session, err)
	}
	if err := f.driver.DestroyTask(f.cfg.ID, true); err != nil {
		t.Fatal(err)
	}
	if dir, _ := filepath.EvalSymlinks(f.cfg.TaskDir()); !strings.HasPrefix(f.stdout(), dir+"\n") {
		t.Errorf("it does not start in the task directory: %q", f.stdout())
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("exec sleep 1000"))
	handle, network, err := f.driver.StartTask(f.ctx, f.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if network != nil {
		t.Errorf("the network is %+v", network)
	}
	var state struct{ Pid int }
	if err := json.Unmarshal(handle.DriverState, &state); err != nil || state.Pid != f.pid() {
		t.Errorf("the handle has process %d, not %d: %v", state.Pid, f.pid(), err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "command = \"env\"\ndenied_envvars = [\"AWS_*\", \"*_TOKEN\", \"EXACT\"]\n")
	f.cfg.Env = map[string]string{
		"AWS_REGION": "x", "MY_TOKEN": "x", "EXACT": "x", "SECRET_KEY": "x",
		"EXACTLY": "1", "TOKEN_": "2", "MY_AWS_": "3", "EMPTY": "", "HOME": "/somewhere",
	}
	f.start().result()
	got := strings.Split(strings.TrimSpace(f.stdout()), "\n")
	want := []string{"EMPTY=", "EXACTLY=1", "HOME=/somewhere", "MY_AWS_=3", "TOKEN_=2"}
	if !slices.Equal(got, want) {
		t.Errorf("the environment is %q, not %q", got, want)
	}
}

func TestWorkDir(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "command = \"pwd\"\nwork_dir = \""+dir+"\"\n").start()
	f.result()
	if got := f.stdout(); got != dir+"\n" {
		t.Errorf("it started in %q, not %q", got, dir)
	}
}

// The error of an impossible start is in terms that a user knows.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	const failed = "failed to launch command with executor: "
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config string
		error  []string
	}{
		"not found":             {`command = "/no/such/binary"`, []string{failed + `binary "/no/such/binary" could not be found`}},
		"not found in PATH":     {`command = "no-such-command"`, []string{failed + `binary "no-such-command" could not be found`}},
		"directory":             {`command = "local"`, []string{failed + `binary "local" could not be found`}},
		"not executable":        {`command = "` + file + `"`, []string{failed, "chmod +x " + file}},
		"no interpreter line":   {`command = "plain"`, []string{failed, "exec format error", "#!"}},
		"no such interpreter":   {`command = "orphan"`, []string{failed, "no such file or directory", "interpreter"}},
		"no such work_dir":      {"command = \"true\"\nwork_dir = \"/no/such/dir\"", []string{failed, `"/no/such/dir": no such file or directory`}},
		"work_dir is a file":    {"command = \"true\"\nwork_dir = \"" + file + "\"", []string{failed, `"` + file + `": not a directory`}},
		"work_dir is relative":  {"command = \"true\"\nwork_dir = \"tmp\"", []string{"failed driver config validation: work_dir must be an absolute path"}},
		"oom_score_adj":         {"command = \"true\"\noom_score_adj = -1", []string{"failed driver config validation: oom_score_adj must not be negative"}},
		"oom_score_adj is high": {"command = \"true\"\noom_score_adj = 1001", []string{"failed driver config validation: oom_score_adj"}},
		"oom_score_adj is 0.5":  {"command = \"true\"\noom_score_adj = 0.5", []string{"failed to decode driver config", "oom_score_adj"}},
		"command is empty":      {`command = ""`, []string{"command must not be empty"}},
		"two overrides": {
			"command = \"true\"\ncgroup_v2_override = \"a\"\ncgroup_v1_override = [{memory = \"a\"}]",
			[]string{"only one of cgroups_v1_override and cgroups_v2_override may be set"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.config)
			for name, text := range map[string]string{"plain": "echo hello\n", "orphan": "#!/no/such/interpreter\n"} {
				if err := os.WriteFile(filepath.Join(f.cfg.TaskDir(), name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			f.mustFail(c.error...)
		})
	}
}

// A config block is an object.
func TestConfigThatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, config := range []cty.Value{cty.NilVal, cty.StringVal("x"), cty.NullVal(cty.EmptyObject)} {
		f := newFixture(t, shell("exit 0"))
		f.cfg.Config = config
		f.mustFail("failed to decode driver config: it is not an object")
	}
}
