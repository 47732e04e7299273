//go:build unix

package play_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
	"taskrun/drivers/catalog"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec"
)

// patience limits every wait of a test.
const patience = 2 * time.Minute

// sleeper is a job whose task, and a process that leaves its session, have a FIFO open
// as long as they live.
func sleeper(fifo, run string) *txtar.Archive {
	return txtar.Parse(fmt.Appendf(nil, `
-- it.nomad.hcl --
job "it" {
  group "g" {
    network {
      port "http" {}
    }
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver       = "raw_exec"
      kill_timeout = "1s"
      config {
        command = "/bin/sh"
        args    = ["-c", "exec 3>%s; echo up >&3; (trap '' HUP INT TERM; while :; do sleep 1; done) & trap 'exit 0' INT; while :; do sleep 1; done"]
      }
      template {
        destination = "local/hello"
        data        = "hello {{ env \"NOMAD_TASK_NAME\" }}"
      }
    }
  }
}
-- it.nomadtest.hcl --
run "it" {
  mode = "real"
%s
}
`, fifo, run))
}

// fifo is a FIFO that the processes of a run have open as long as they live, and the
// test as well, until it waits for their end.
type fifo struct {
	path  string
	write *os.File
	began <-chan struct{} // closed when a process has written
	gone  <-chan struct{} // closed when nothing has it open
}

func newFIFO(t *testing.T) *fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	write, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	began, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		defer read.Close()
		first := make([]byte, 1)
		if _, err := io.ReadFull(read, first); err == nil {
			close(began)
		}
		_, _ = io.Copy(io.Discard, read)
	}()
	return &fifo{path, write, began, gone}
}

// await waits until no process has the FIFO open.
func (f *fifo) await(t *testing.T) {
	t.Helper()
	if err := f.write.Close(); err != nil {
		t.Error(err)
	}
	await(t, f.gone)
}

func await(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("a process of the run still lives")
	}
}

// playReal plays the run of a sleeper. When it returns no process is left.
func playReal(t *testing.T, ctx context.Context, run string) (*jobtest.Outcome, error) {
	t.Helper()
	fifo := newFIFO(t)
	s := newStage(t, sleeper(fifo.path, run))
	o, err := s.player.Play(ctx, s.prepare("it.nomadtest.hcl")[0], 1)
	s.close(o)
	fifo.await(t)
	return o, err
}

// Commands run in the tasks once the condition of "until" is met.
func TestRealRun(t *testing.T) {
	o, err := playReal(t, t.Context(), `
  until = "running"
  exec "g/t" { command = ["/bin/sh", "-c", "cat local/hello; echo at ${NOMAD_ADDR_http} >&2; exit 3"] }`)
	if err != nil {
		t.Fatal(err)
	}
	ended := o.Execs["g/t"]
	if ended == nil || ended.ExitCode != 3 || string(ended.Stdout) != "hello t" || !strings.HasPrefix(string(ended.Stderr), "at 127.0.0.1:") {
		t.Errorf("the command ended with %+v", ended)
	}
	if o.Status != "running" || o.ExitCode != 0 || o.Unfinished != "" || o.Real <= 0 {
		t.Errorf("the outcome is %s, %d, %q, %v", o.Status, o.ExitCode, o.Unfinished, o.Real)
	}
	alloc := o.State.Allocs[0]
	if text, err := o.ReadFile(alloc.ID, "t/local/hello"); err != nil || string(text) != "hello t" {
		t.Errorf("the template is %q, %v", text, err)
	}
	if env := o.Tasks[jobtest.TaskKey{Alloc: alloc.ID, Task: "t"}].Env; env["NOMAD_TASK_NAME"] != "t" {
		t.Errorf("the environment is %v", env)
	}
}

// Another run follows the first one in the same process.
func TestRealRunsThatEndEarly(t *testing.T) {
	t.Run("timeout", func(t *testing.T) {
		o, err := playReal(t, t.Context(), "  timeout = \"1s\"\n  until = \"ended\"")
		if err != nil || o.ExitCode != 124 || !strings.HasPrefix(o.Unfinished, "the timeout of 1s has passed") {
			t.Errorf("the outcome is %+v, %v", o, err)
		}
	})
	t.Run("a command that does not end", func(t *testing.T) {
		o, err := playReal(t, t.Context(), `
  until = "running"
  exec "t" {
    command = ["/bin/sleep", "1000"]
    timeout = "100ms"
  }`)
		var d jobspec.Diagnostic
		if o == nil || !errors.As(err, &d) || !strings.Contains(d.Detail, "not ended within 100ms") || d.Range.Start.Line == 0 {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("a command in a task that has not started", func(t *testing.T) {
		fifo := newFIFO(t)
		files := sleeper(fifo.path, `
  until = "running"
  exec "late" { command = ["/bin/true"] }`)
		job := &files.Files[0]
		job.Data = bytes.Replace(job.Data, []byte("    task \"t\" {\n"), []byte(`    task "late" {
      driver = "raw_exec"
      lifecycle {
        hook = "poststop"
      }
      config {
        command = "/bin/true"
      }
    }
    task "t" {
`), 1)
		s := newStage(t, files)
		o, err := s.player.Play(t.Context(), s.prepare("it.nomadtest.hcl")[0], 1)
		s.close(o)
		fifo.await(t)
		var d jobspec.Diagnostic
		if !errors.As(err, &d) || d.Summary != `cannot run the command in "late"` || d.Detail != "the task is not running" {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("a command after a failure", func(t *testing.T) {
		_, err := playReal(t, t.Context(), `
  timeout = "1s"
  until = "healthy"
  exec "t" { command = ["/bin/sh", "-c", "exit 0"] }`)
		var d jobspec.Diagnostic
		if !errors.As(err, &d) || d.Summary != "the command was not run" {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(enough) })
		o, err := playReal(t, ctx, "  until = \"ended\"")
		if o == nil || !errors.Is(err, enough) {
			t.Errorf("the error is %v", err)
		}
	})
}

// Others may write into the directory of records: nothing is kept there.
func TestRecordsThatOthersCouldWrite(t *testing.T) {
	fifo, open := newFIFO(t), t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, sleeper(fifo.path, `  until = "running"`))
	s.player.Records = open
	o, err := s.player.Play(t.Context(), s.prepare("it.nomadtest.hcl")[0], 1)
	if err != nil || len(o.Notices) != 1 || !strings.Contains(o.Notices[0], "if taskrun is killed together with its keeper: others may use it") {
		t.Errorf("the outcome is %+v, %v", o, err)
	}
	s.close(o)
	fifo.await(t)
}

// asPlayer makes the test binary play a real run.
const asPlayer = "PLAY_TEST_DIR"

// playAlone plays a real run that does not end, and says so.
func playAlone(dir string) error {
	f, diagnostics := jobtest.Read(filepath.Join(dir, "it.nomadtest.hcl"))
	if diagnostics.HasErrors() {
		return diagnostics
	}
	records := filepath.Join(dir, "records")
	p := play.New(play.Options{Drivers: catalog.New, Dir: dir, Records: records})
	run, diagnostics, err := p.Prepare(context.Background(), f, f.Runs[0])
	if err != nil || run == nil {
		return fmt.Errorf("%w: %w", diagnostics, err)
	}
	_, err = p.Play(context.Background(), run, 1)
	return err
}

// Nothing is left of a run whose process was killed.
func TestKilledPlayer(t *testing.T) {
	fifo := newFIFO(t)
	s := newStage(t, sleeper(fifo.path, `  until = "ended"`))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), asPlayer+"="+s.dir)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-fifo.began:
	case <-time.After(patience):
		t.Error("the task has not started")
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait()
	// The keeper cleans up. Killed before it was there, the run is one for the next
	// command.
	dead, err := keeper.FindDead(filepath.Join(s.dir, "records"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dead {
		if _, err := d.Sweep(t.Context(), func(context.Context, string, string) error { return nil }, true); err != nil {
			t.Error(err)
		}
	}
	fifo.await(t)
}
