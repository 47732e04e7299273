package java_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/java"
)

// fakeJava prints its arguments, and runs the last one as a script.
const fakeJava = `#!/bin/sh
for last; do :; done
exec /bin/sh -c "$last" java "$@"
`

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "java")
	if err == nil {
		err = os.Mkdir(filepath.Join(home, "bin"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "bin", "java"), []byte(fakeJava), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "release"), []byte("IMPLEMENTOR=\"nobody\"\nJAVA_VERSION=\"99.0.1\"\n"), 0o644)
	}
	if err == nil {
		err = os.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home)
		os.Exit(code)
	}))
}

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New: func() drivers.Driver { return java.New() },
		Script: func(s drivertest.Script) string {
			return fmt.Sprintf("class = \"Main\"\nargs = [%q]\n", drivertest.Shell(s))
		},
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
	})
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][]string{
		`jar_path = "local/app.jar"`: {"-jar", "local/app.jar"},
		`class = "Main"`:             {"Main"},
		"class = \"Main\"\nclass_path = \"local/lib\"\njvm_options = [\"-Xmx1g\", \"-Xms1g\"]": {"-Xmx1g", "-Xms1g", "-cp", "local/lib", "Main"},
		"class = \"Main\"\njar_path = \"a.jar\"\nclass_path = \"b.jar\"":                       {"-cp", "b.jar", "-jar", "a.jar", "Main"},
	} {
		d := java.New()
		const show = `for a; do echo "$a"; done`
		cfg, output := drivertest.Task(t, d, config+fmt.Sprintf("\nargs = [\"one\", %q]\n", show))
		if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		stdout, _, err := output.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if diff := cmp.Diff(append(want, "one", show), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", config, diff)
		}
		if err := d.DestroyTask(cfg.ID, true); err != nil {
			t.Error(err)
		}
		if n, err := d.Shutdown(t.Context()); n != 0 || err != nil {
			t.Errorf("at the end the driver killed %d processes: %v", n, err)
		}
	}
}

func TestNothingToRun(t *testing.T) {
	t.Parallel()
	d := java.New()
	cfg, _ := drivertest.Task(t, d, `args = ["x"]`)
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "jar_path or class must be specified") {
		t.Errorf("the error is %v", err)
	}
}

func fingerprint(t *testing.T) drivers.Fingerprint {
	t.Helper()
	ch, err := java.New().Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return <-ch
}

func TestFingerprint(t *testing.T) { // not parallel: it changes PATH
	want := map[string]string{"driver.java": "1", "driver.java.version": "99.0.1"}
	if f := fingerprint(t); f.Health != drivers.HealthHealthy || !cmp.Equal(f.Attributes, want) {
		t.Errorf("with java it is %+v", f)
	}
	t.Setenv("PATH", t.TempDir())
	if f := fingerprint(t); f.Health != drivers.HealthUndetected || !strings.Contains(f.HealthDescription, "no java in PATH") || len(f.Attributes) > 0 {
		t.Errorf("without java it is %+v", f)
	}
	d := java.New()
	cfg, _ := drivertest.Task(t, d, `class = "Main"`)
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "cannot run java") {
		t.Errorf("a start without java: %v", err)
	}
}
