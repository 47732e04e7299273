package enginerun

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	hooks "taskrun/hooks/catalog"

	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/leaf/service"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// mockJob is a service of one mock task with these options.
func mockJob(t *testing.T, kind, config string) *api.Job {
	t.Helper()
	text := `job "j" {
		type = "` + kind + `"
		group "g" {
			restart {
				attempts = 0
			}
			task "t" {
				driver       = "mock_driver"
				kill_timeout = "20s"
				config {
					` + config + `
				}
			}
		}
	}`
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "j.nomad.hcl", Text: []byte(text)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	return file.Job
}

// closedWriter is a stdout without a reader.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestRunEndsWhenItShould(t *testing.T) {
	t.Parallel()
	// interrupts are the times of signals since the start.
	for _, c := range []struct {
		name       string
		kind       string
		config     string
		policy     verdict.Policy
		interrupts []time.Duration
		stdout     io.Writer
		code       int
		took       time.Duration
		says       string
	}{
		{"by itself", "batch", `run_for = "90s"`, verdict.Policy{}, nil, nil, 0, 90 * time.Second, "job j complete after 1m30s"},
		{"after the timeout", "batch", `run_for = "1h"`, verdict.Policy{Timeout: time.Minute}, nil, nil, 124, time.Minute, "the timeout of 1m0s has passed with t running: stopping"},
		{"a timeout that does not pass", "batch", `run_for = "90s"`, verdict.Policy{Timeout: time.Hour}, nil, nil, 0, 90 * time.Second, ""},
		{"when all have run long enough", "service", `run_for = "1h"`, verdict.Policy{Until: 10 * time.Second}, nil, nil, 0, 10 * time.Second, "every task has run for 10s: stopping"},
		{"with the first failure before that", "service", "run_for = \"5s\"\nexit_code = 3", verdict.Policy{Until: 10 * time.Second}, nil, nil, 1, 5 * time.Second, "j.g[0] failed: stopping"},
		{"with the first failure", "service", "run_for = \"5s\"\nexit_code = 3", verdict.Policy{FailFast: true}, nil, nil, 1, 5 * time.Second, ""},
		{"by a signal", "service", "run_for = \"1h\"\nkill_after = \"3s\"", verdict.Policy{}, []time.Duration{time.Minute}, nil, 130, time.Minute + 3*time.Second, "stopping; press Ctrl-C again to kill"},
		{"at once by the second signal", "service", "run_for = \"1h\"\nkill_after = \"15s\"", verdict.Policy{}, []time.Duration{time.Minute, time.Minute + time.Second}, nil, 130, time.Minute + time.Second, "killing"},
		{"when stdout is closed", "batch", "run_for = \"1h\"\nstdout_string = \"text\\n\"", verdict.Policy{}, nil, closedWriter{}, 141, 0, "stdout was closed: stopping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			job := mockJob(t, c.kind, c.config)
			dataDir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				streams, _, stderr := ui.Test()
				if c.stdout != nil {
					streams.Out = c.stdout
				}
				signals := make(chan os.Signal)
				stop := make(chan struct{})
				defer close(stop)
				begin := time.Now()
				go func() {
					for _, at := range c.interrupts {
						select {
						case <-time.After(time.Until(begin.Add(at))):
							signals <- os.Interrupt
						case <-stop:
							return
						}
					}
				}()
				code := playRun(t, streams, dataDir, job, c.policy, signals)
				if code != c.code {
					t.Errorf("exit code %d, want %d", code, c.code)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if !strings.Contains(stderr.String(), c.says) {
					t.Errorf("stderr does not say %q:\n%s", c.says, stderr)
				}
			})
		})
	}
}

// endless is a driver whose cleanup never ends.
type endless struct {
	drivers.Driver
	release <-chan struct{}
}

func (e endless) Shutdown(context.Context) (int, error) {
	<-e.release
	return 0, nil
}

// TestRunThatDoesNotEnd uses an engine that is stuck: the second signal must
// end the run nevertheless.
func TestRunThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	job := mockJob(t, "service", `run_for = "1h"`)
	dataDir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		streams, _, stderr := ui.Test()
		jobs := []*api.Job{job}
		signals := make(chan os.Signal, 2)
		r := &Run{
			watch: keeper.New(),
			engine: engine.New(engine.Config{
				DataDir: dataDir,
				Drivers: map[string]drivers.Driver{"mock_driver": endless{mock.New(), release}},
				Hooks:   hooks.New(hooks.Options{Services: &service.Catalog{}}),
				Node:    &taskenv.Node{},
			}),
			display: view.New(streams, view.Options{Jobs: jobs, Begin: time.Now()}),
			verdict: verdict.New(verdict.Policy{}, jobs),
			signals: signals,
		}
		begin := time.Now()
		signals <- os.Interrupt
		signals <- os.Interrupt
		code, err := r.Run(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); code != 130 || took != source.GiveUpTime {
			t.Errorf("it ended after %v with code %d", took, code)
		}
		if want := "the engine has not ended 15s after the kill"; !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	})
}

// play runs a job with the mock driver and returns the exit code.
func playRun(t *testing.T, streams *ui.Streams, dataDir string, job *api.Job, p verdict.Policy, signals <-chan os.Signal) int {
	t.Helper()
	jobs := []*api.Job{job}
	r := &Run{
		watch: keeper.New(),
		engine: engine.New(engine.Config{
			DataDir: dataDir,
			Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks:   hooks.New(hooks.Options{Services: &service.Catalog{}}),
			Node:    &taskenv.Node{},
		}),
		display: view.New(streams, view.Options{Jobs: jobs, Begin: time.Now()}),
		verdict: verdict.New(p, jobs),
		signals: signals,
	}
	code, err := r.Run(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// A run does not begin if something is missing that a later engine would need.
func TestARunThatCouldNotGoOnDoesNotBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "gone"): `cannot run job "j" in the background: stat `,
		log:                        "cannot store the jobs to run: ", // there is no file for it
	} {
		jobs := []*api.Job{mockJob(t, "service", `run_for = "1h"`)}
		streams, _, _ := ui.Test()
		b := &Background{input: Input{Log: path}, Run: &Run{
			watch: keeper.New(),
			engine: engine.New(engine.Config{
				DataDir: dir,
				Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
				Hooks:   hooks.New(hooks.Options{Services: &service.Catalog{}}),
				Node:    &taskenv.Node{},
			}),
			display: view.New(streams, view.Options{Jobs: jobs, Begin: time.Now()}),
			verdict: verdict.New(verdict.Policy{}, jobs),
		}}
		b.start = b.launch
		if _, err := b.Run.Run(t.Context(), jobs); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("with log %s the error is %v", path, err)
		}
	}
}

func TestRefusedJobIsNotShown(t *testing.T) {
	t.Parallel()
	job := mockJob(t, "batch", "")
	job.TaskGroups[0].Tasks[0].Driver = "no-such-driver"
	streams, stdout, stderr := ui.Test()
	jobs := []*api.Job{job}
	r := &Run{
		engine:  engine.New(engine.Config{DataDir: t.TempDir()}),
		watch:   keeper.New(),
		display: view.New(streams, view.Options{Jobs: jobs, Begin: time.Now()}),
		verdict: verdict.New(verdict.Policy{}, jobs),
	}
	if _, err := r.Run(t.Context(), jobs); err == nil {
		t.Error("the job was run")
	}
	if shown := bytes.Join([][]byte{stdout.Bytes(), stderr.Bytes()}, nil); len(shown) > 0 {
		t.Errorf("shown: %s", shown)
	}
}
