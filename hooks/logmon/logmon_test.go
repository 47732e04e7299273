package logmon_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/logmon"
)

const patience = time.Minute

// captured is the hook of a task, and the output it has announced.
type captured struct {
	hooks.TaskHook
	dir  string
	told chan event.Body
}

// capture creates the hook of a task in a directory.
func capture(t *testing.T, dir *allocdir.Dir) *captured {
	t.Helper()
	told := make(chan event.Body, 100)
	task := &api.Task{Name: "t", LogConfig: api.DefaultLogConfig()}
	return &captured{
		logmon.New(hooks.Task{Task: task, Dir: dir, Publish: func(_ time.Time, body event.Body) { told <- body }}), dir.Path(), told,
	}
}

func newDir(t *testing.T) *allocdir.Dir {
	t.Helper()
	dir := allocdir.At(filepath.Join(t.TempDir(), "alloc"))
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// start calls Prestart.
func (c *captured) start(t *testing.T, recovered bool) drivers.Output {
	t.Helper()
	var resp hooks.PrestartResponse
	if err := c.TaskHook.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Recovered: recovered}, &resp); err != nil {
		t.Fatal(err)
	}
	if resp.Output == nil || resp.Done {
		t.Fatalf("the answer is %+v", resp)
	}
	return resp.Output
}

// hears waits until the given number of bytes of stdout was announced.
func (c *captured) hears(t *testing.T, bytes int64) {
	t.Helper()
	for deadline := time.After(patience); bytes > 0; {
		select {
		case body := <-c.told:
			out, ok := body.(event.Output)
			if !ok || out.Stream != event.Stdout || out.Source == nil {
				t.Fatalf("told %+v", body)
			}
			bytes -= out.Length
		case <-deadline:
			t.Fatalf("%d bytes are missing", bytes)
		}
	}
}

func (c *captured) stop(t *testing.T) {
	t.Helper()
	if err := c.TaskHook.(hooks.TaskStop).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// pipes counts the FIFOs among the logs.
func (c *captured) pipes(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.dir, "alloc", "logs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type() == fs.ModeNamedPipe {
			n++
		}
	}
	return n
}

// Stored states name the hook, as Nomad does.
func TestName(t *testing.T) {
	t.Parallel()
	if name := capture(t, newDir(t)).Name(); name != "logmon" {
		t.Errorf("%q", name)
	}
}

// A task's output is written to a file and announced, over all its starts and
// engines, and nothing is left when it has ended.
func TestOutputIsCaptured(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if err := dir.Build(); err != nil {
		t.Fatal(err)
	}
	first := capture(t, dir)
	output := first.start(t, false)
	if again := first.start(t, false); again != output {
		t.Error("another start has another log")
	}
	stdout, stderr, err := output.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	defer stderr.Close()
	write := func(text string) {
		t.Helper()
		if _, err := stdout.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	first.hears(t, 4)
	if n := first.pipes(t); n != 2 {
		t.Errorf("%d pipes, want 2", n)
	}
	first.TaskHook.(hooks.TaskShutdown).Shutdown()
	if n := first.pipes(t); n != 2 {
		t.Errorf("%d pipes are left to the next engine, want 2", n)
	}
	second := capture(t, dir)
	second.start(t, true)
	write("two\n")
	second.hears(t, 4)
	second.stop(t)
	if text, err := os.ReadFile(filepath.Join(dir.Path(), "alloc", "logs", "t.stdout.0")); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if n := second.pipes(t); n != 0 {
		t.Errorf("%d pipes are left", n)
	}
}

// The pipes of a task that was dead when an engine recovered it are removed,
// and a task that never ran has none.
func TestStopWithoutAStart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	capture(t, dir).stop(t) // the allocation was not even set up
	if err := dir.Build(); err != nil {
		t.Fatal(err)
	}
	died := capture(t, dir)
	stdout, stderr, err := died.start(t, false).Files()
	if err := errors.Join(err, stdout.Close(), stderr.Close()); err != nil {
		t.Fatal(err)
	}
	died.TaskHook.(hooks.TaskShutdown).Shutdown()
	next := capture(t, dir)
	next.TaskHook.(hooks.TaskShutdown).Shutdown() // it has nothing to leave
	if n := next.pipes(t); n != 2 {
		t.Errorf("%d pipes, want 2", n)
	}
	next.stop(t)
	if n := next.pipes(t); n != 0 {
		t.Errorf("%d pipes are left", n)
	}
}

// An error of the log fails the start with a recoverable error.
func TestUnopenableLog(t *testing.T) {
	t.Parallel()
	built := newDir(t)
	if err := built.Build(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir   *allocdir.Dir
		files int
	}{"no directory": {newDir(t), 1}, "no room": {built, 0}} {
		spec := api.DefaultLogConfig()
		spec.MaxFiles = &tt.files
		h := logmon.New(hooks.Task{Task: &api.Task{Name: "t", LogConfig: spec}, Dir: tt.dir})
		var resp hooks.PrestartResponse
		err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &resp)
		if err == nil || !drivers.IsRecoverable(err) || resp.Output != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A directory of logs that cannot be opened is an error; one that was never made is
// not.
func TestStopWithoutLogs(t *testing.T) {
	t.Parallel()
	c := capture(t, newDir(t))
	c.stop(t)
	logs := filepath.Join(c.dir, "alloc", "logs")
	if err := errors.Join(os.MkdirAll(filepath.Dir(logs), 0o700), os.WriteFile(logs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := c.TaskHook.(hooks.TaskStop).Stop(t.Context()); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("the error is %v", err)
	}
}
