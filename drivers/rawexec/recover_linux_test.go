package rawexec_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/rawexec"
)

// later returns another driver, like that of a later engine.
func (f *fixture) later() *rawexec.Driver {
	f.Helper()
	d := rawexec.New()
	f.Cleanup(func() {
		_ = d.DestroyTask(f.cfg.ID, true)
		if n, err := d.Shutdown(f.ctx); n != 0 || err != nil {
			f.Errorf("at the end the later driver killed %d processes: %v", n, err)
		}
	})
	return d
}

// A task continues under another driver, with all operations.
func TestRecover(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, string) *fixture{"plain": newFixture, "with a group": enforced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, shell("trap 'exit 9' USR1; (setsid sleep 1000 &); echo ready; while :; do sleep 0.01; done"))
			handle, _, err := f.driver.StartTask(f.ctx, f.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.output.Await(f.ctx, "ready"); err != nil {
				t.Fatal(err)
			}
			pid := f.pid()
			d := f.later()
			if err := d.RecoverTask(handle); err != nil {
				t.Fatal(err)
			}
			status, err := d.InspectTask(f.cfg.ID)
			if err != nil || status.Attributes["pid"] != "" && number(t, status.Attributes["pid"], "") != pid || status.State != drivers.TaskStateRunning {
				t.Fatalf("it is %+v, %v", status, err)
			}
			got, err := drivers.Capture(f.ctx, d, f.cfg.ID, []string{"sh", "-c", "echo $NOMAD_TASK_NAME; pwd"})
			if want := "task\n" + realPath(t, f.cfg.TaskDir()) + "\n"; err != nil || string(got.Output) != want {
				t.Errorf("a command in it is %+v, %v", got, err)
			}
			samples, err := d.TaskStats(f.ctx, f.cfg.ID, 10*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if u := <-samples; u == nil || u.Processes < 2 {
				t.Errorf("it uses %+v", u)
			}
			if err := d.StopTask(f.ctx, f.cfg.ID, patience, "SIGUSR1"); err != nil {
				t.Fatal(err)
			}
			ch, err := d.WaitTask(f.ctx, f.cfg.ID)
			if err != nil {
				t.Fatal(err)
			}
			if r := <-ch; r == nil || r.ExitCode != 9 || r.Err != nil {
				t.Errorf("it ended with %+v", r)
			}
			if err := d.DestroyTask(f.cfg.ID, false); err != nil {
				t.Error(err)
			}
			f.stdout() // none of it is running
			if err := f.later().RecoverTask(handle); !errors.Is(err, drivers.ErrTaskNotFound) {
				t.Errorf("when it is gone the error is %v", err)
			}
		})
	}
}

// A start that was intended, and has happened, is found by its environment.
func TestRecoverIntended(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("exit 0"))
	d := f.later()
	intended := &drivers.TaskHandle{Version: 1, Config: f.cfg}
	if err := d.RecoverTask(intended); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Fatalf("before it happened the error is %v", err)
	}
	keep := newFixture(t, shell(sleeper)).ready() // from here on, this program adopts orphans
	defer keep.driver.DestroyTask(keep.cfg.ID, true)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "setsid sh -c 'echo started; exec sleep 1000' &") // started by a dead engine
	cmd.Env, cmd.Stdout = os.Environ(), w
	for name, value := range f.cfg.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err = cmd.Run()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 8)
	if _, err := r.Read(line); err != nil || !strings.HasPrefix(string(line), "started") {
		t.Fatalf("it wrote %q, %v", line, err)
	}
	if err := d.RecoverTask(intended); err != nil {
		t.Fatal(err)
	}
	if err := d.RecoverTask(intended); err != nil { // it is known now
		t.Error(err)
	}
	if err := d.StopTask(f.ctx, f.cfg.ID, patience, "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	status, err := d.InspectTask(f.cfg.ID)
	if err != nil || status.ExitResult == nil || status.ExitResult.Signal != 15 {
		t.Errorf("it is %+v, %v", status, err)
	}
}

// If another process has the PID by now, the task is not found.
func TestRecoverAnotherProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper))
	handle, _, err := f.driver.StartTask(f.ctx, f.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		strings.Replace(string(handle.DriverState), `"start":`, `"start":1`, 1): drivers.ErrTaskNotFound.Error(),
		`{"pid":1,"start":1}`: drivers.ErrTaskNotFound.Error(),
		`{}`:                  drivers.ErrTaskNotFound.Error(),
		`[]`:                  "its state cannot be read",
	} {
		stale := *handle
		stale.DriverState = []byte(text)
		d := f.later()
		if err := d.RecoverTask(&stale); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, not %q", text, err, want)
		}
		if _, err := d.InspectTask(f.cfg.ID); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("%s: it is registered: %v", text, err)
		}
	}
	other := *handle
	other.Version = 2
	if err := f.later().RecoverTask(&other); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("of another version: %v", err)
	}
	if status, err := f.driver.InspectTask(f.cfg.ID); err != nil || status.State != drivers.TaskStateRunning {
		t.Errorf("the task is %+v, %v", status, err)
	}
}
