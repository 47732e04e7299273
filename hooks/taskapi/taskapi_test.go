package taskapi_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/taskapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// greet responds to each connection with one word.
func greet(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "hello")
		_ = conn.Close()
	}
}

func newTask(t *testing.T) hooks.Task {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "taskrun") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	opened := allocdir.At(dir)
	t.Cleanup(func() { _ = opened.Close() })
	if err := errors.Join(opened.Build(), opened.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	return hooks.Task{AllocDir: dir, Dir: opened, Task: &api.Task{Name: "t"}}
}

func begin(t *testing.T, h hooks.TaskHook) {
	t.Helper()
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &hooks.PrestartResponse{}); err != nil {
		t.Fatal(err)
	}
}

func greeting(task hooks.Task) string {
	conn, err := net.Dial("unix", filepath.Join(task.AllocDir, "t/secrets/api.sock"))
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestSocketLifetime(t *testing.T) {
	t.Parallel()
	task := newTask(t)
	h := taskapi.New(greet)(task)
	begin(t, h)
	begin(t, h) // a restart
	if got := greeting(task); got != "hello" {
		t.Errorf("got %q", got)
	}
	h.(hooks.TaskShutdown).Shutdown()
	if got := greeting(task); !strings.Contains(got, "connection refused") {
		t.Errorf("between two engines: %q", got)
	}
	next := taskapi.New(greet)(task)
	begin(t, next)
	if got := greeting(task); got != "hello" {
		t.Errorf("with the next engine: %q", got)
	}
	for range 2 {
		if err := next.(hooks.TaskStop).Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := greeting(task); !strings.Contains(got, "no such file") {
		t.Errorf("after the end: %q", got)
	}
	begin(t, next) // a second start
	if got := greeting(task); got != "hello" {
		t.Errorf("after another start: %q", got)
	}
	next.(hooks.TaskShutdown).Shutdown()
}

func TestTaskStartsWithoutASocket(t *testing.T) {
	t.Parallel()
	task := newTask(t)
	var notices []string
	task.Publish = func(_ time.Time, body event.Body) { notices = append(notices, body.(event.Notice).Text) }
	if err := os.Mkdir(filepath.Join(task.AllocDir, "t/secrets/api.sock"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := taskapi.New(greet)(task)
	begin(t, h)
	if len(notices) != 1 || !strings.HasPrefix(notices[0], `task "t" has no task API: `) {
		t.Errorf("got %q", notices)
	}
	h.(hooks.TaskShutdown).Shutdown()
}

func TestStopWithoutAStart(t *testing.T) {
	t.Parallel()
	dir := allocdir.At(t.TempDir()) // it was never set up
	defer dir.Close()
	if err := taskapi.New(greet)(hooks.Task{Dir: dir, Task: &api.Task{Name: "t"}}).(hooks.TaskStop).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
