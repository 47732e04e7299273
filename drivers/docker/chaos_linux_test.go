package docker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
)

// counting writes consecutive numbers until SIGTERM.
const counting = "trap 'exit 3' TERM; i=0; while :; do i=$((i+1)); echo number $i; sleep 0.05 & wait $!; done"

// startOn starts a task in an engine of the test.
func startOn(t *testing.T, d *docker.Driver, script string) (*drivers.TaskConfig, *drivertest.Output) {
	t.Helper()
	cfg, output := drivertest.Task(t, d, dockertest.Shell(script)+"network_mode = \"none\"\n")
	run(t, d, cfg)
	return cfg, output
}

// TestEngineIsStoppedAndStarted stops the engine while tasks are running. With
// --live-restore they continue, and no output is lost; without it the engine
// ends them.
func TestEngineIsStoppedAndStarted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		end  func(*dockertest.Daemon) error
		code int // 0: the task continues
	}{
		{"stopped", nil, (*dockertest.Daemon).Stop, 3},
		{"killed", nil, (*dockertest.Daemon).Kill, 3},
		{"stopped, with live-restore", []string{"--live-restore"}, (*dockertest.Daemon).Stop, 0},
		{"killed, with live-restore", []string{"--live-restore"}, (*dockertest.Daemon).Kill, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			engine := dockertest.NeedDaemon(t, c.args...)
			d := docker.New(docker.Config{Host: engine.Host})
			cfg, output := startOn(t, d, counting)
			if err := output.Await(t.Context(), "number 3\n"); err != nil {
				t.Fatal(err)
			}
			if err := c.end(engine); err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(); err != nil {
				t.Fatal(err)
			}
			if c.code == 0 {
				// This line comes after the output written meanwhile.
				_, err := drivers.Capture(t.Context(), d, cfg.ID, []string{"sh", "-c", "echo from inside >/proc/1/fd/1"})
				if err != nil {
					t.Fatal(err)
				}
				if err := output.Await(t.Context(), "from inside\n"); err != nil {
					t.Fatal(err)
				}
				if err := d.StopTask(t.Context(), cfg.ID, 30*time.Second, ""); err != nil {
					t.Fatal(err)
				}
				c.code = 3
			}
			if r := result(t, d, cfg.ID); r.ExitCode != c.code {
				t.Errorf("the result is %+v", r)
			}
			stdout, _, err := output.All(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(strings.ReplaceAll(stdout, "from inside\n", "")) {
				if n++; line != fmt.Sprintf("number %d\n", n) {
					t.Fatalf("line %d is %q", n, line)
				}
			}
		})
	}
}

// TestEngineThatStaysAway loses the task, and stopping it returns at once.
func TestEngineThatStaysAway(t *testing.T) {
	t.Parallel()
	engine := dockertest.NeedDaemon(t)
	d := docker.New(docker.Config{Host: engine.Host, Absence: time.Second})
	events, err := d.TaskEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg, output := drivertest.Task(t, d, dockertest.Shell(counting)+"network_mode = \"none\"\n")
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := output.Await(t.Context(), "number 3\n"); err != nil {
		t.Fatal(err)
	}
	if err := engine.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Message != "The Docker engine no longer answers, waiting 1s for it" {
		t.Errorf("the event is %q", e.Message)
	}
	r := result(t, d, cfg.ID)
	if r.ExitCode != -1 || r.Err == nil || !strings.Contains(r.Err.Error(), "the Docker engine is gone, and with it container") {
		t.Errorf("the result is %+v", r)
	}
	if err := d.StopTask(t.Context(), cfg.ID, time.Second, ""); err != nil {
		t.Error(err)
	}
	if err := d.DestroyTask(cfg.ID, true); err == nil {
		t.Error("a container was removed without an engine")
	}
	again, _ := drivertest.Task(t, d, dockertest.Shell("true"))
	if _, _, err := d.StartTask(t.Context(), again); !drivers.IsRecoverable(err) {
		t.Errorf("a start without an engine: %v", err)
	}
	if _, err := d.Shutdown(context.Background()); err == nil {
		t.Error("all was removed without an engine")
	}
}
