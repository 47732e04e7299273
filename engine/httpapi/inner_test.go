package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A client that does not read the log loses lines, and is told how many.
func TestLostLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := api.NewTask("t", "mock_driver")
		task.Config = map[string]any{"run_for": "1h"}
		g := api.NewTaskGroup("g", 1)
		g.Tasks = []*api.Task{task}
		job := &api.Job{ID: new("job"), Type: new("batch"), TaskGroups: []*api.TaskGroup{g}}
		job.Canonicalize()
		node := &taskenv.Node{}
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()}, Hooks: catalog.New(catalog.Options{}), Node: node,
		})
		s := New(e, Config{Node: node})
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		alloc := e.Allocs()[0].ID
		lines, stop := s.follow(t.Context(), logFormat{least: levels["info"]})
		signal := func(n int) {
			for range n {
				if err := e.Signal(alloc, "t", "SIGUSR1"); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		signal(monitored + 7)
		if n := len(lines); n != monitored {
			t.Errorf("%d lines wait, want %d", n, monitored)
		}
		for range 2 { // one for the next line, one for what says that others are lost
			<-lines
		}
		signal(1)
		for range monitored - 2 {
			if line := string(<-lines); !strings.Contains(line, "type=Signaling") {
				t.Fatalf("line %q", line)
			}
		}
		if line := string(<-lines); !strings.Contains(line, "[WARN]  taskrun: Monitor dropped logs during monitor request count=7\n") {
			t.Errorf("line %q", line)
		}
		if line := string(<-lines); !strings.Contains(line, "type=Signaling") {
			t.Errorf("after it %q", line)
		}
		signal(1)
		if line := string(<-lines); !strings.Contains(line, "type=Signaling") || len(lines) > 0 {
			t.Errorf("then %q and %d more", line, len(lines))
		}
		stop()
		e.Kill()
		if err := errors.Join(e.Close(context.Background()), s.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// A line of the log has one word for each value.
func TestLogLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		body event.Body
		json bool
		want string
	}{
		{event.Notice{Text: "hello"}, false, "2026-01-02T02:04:05.006Z [INFO]  taskrun: hello\n"},
		{event.Notice{Text: "hello"}, true, `{"@level":"info","@message":"hello","@module":"taskrun","@timestamp":"2026-01-02T02:04:05.006Z"}` + "\n"},
		{event.Output{}, false, ""},
		{event.TaskState{State: "running"}, false, ""}, // below the level
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "a=b", DisplayMessage: ""}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event type="a=b" msg=""` + "\n"},
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: `"`, DisplayMessage: "a b"}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event type="\"" msg="a b"` + "\n"},
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "\a", DisplayMessage: "é"}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event type="\a" msg=é` + "\n"},
	} {
		f := logFormat{least: levels["info"], json: tt.json}
		if got := string(f.line(event.Event{Time: at, Body: tt.body})); got != tt.want {
			t.Errorf("%+v: %q\nwant %q", tt.body, got, tt.want)
		}
	}
}

// source is a source of output that cannot be read.
type source struct{ error }

func (s source) ReadAt([]byte, int64) (int, error) { return 0, s.error }
func (source) Retain()                             {}
func (source) Release()                            {}

// A frame says how much of an output in memory is left out.
func TestOutputThatIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body event.Body
		want string
	}{
		"overwritten": {event.Output{Length: 7, Source: source{event.ErrOverwritten}}, "7 bytes before these are left out: the reader was too slow"},
		"a gap":       {event.Gap{Bytes: 5}, "5 bytes before these are left out: the reader was too slow"},
		"unreadable":  {event.Output{Length: 7, Source: source{errors.New("no disk")}}, ""},
	} {
		var frames, plain bytes.Buffer
		err := errors.Join((&logWriter{w: &frames}).pass(tt.body), (&logWriter{w: &plain, plain: true}).pass(tt.body))
		if (err == nil) == (tt.want == "") || err != nil && !strings.Contains(err.Error(), "cannot read output: no disk") {
			t.Errorf("%s: %v", name, err)
		}
		if want := fmt.Sprintf(`{"FileEvent":%q}`, tt.want); tt.want != "" && frames.String() != want || plain.Len() > 0 {
			t.Errorf("%s: %s, plain %q", name, &frames, &plain)
		}
	}
}

// What is wrong with a file has a status, and does not tell where it is.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "/data/alloc/t/x", Err: syscall.ENOENT}:  "404 open t/x: no such file or directory",
		&fs.PathError{Op: "open", Path: "/data/alloc/t/x", Err: syscall.ENOTDIR}: "404 open t/x: not a directory",
		&fs.PathError{Op: "open", Path: "/data/alloc/t/x", Err: syscall.EACCES}:  "403 open t/x: permission denied",
		&fs.PathError{Op: "open", Path: "/data/alloc/t/x", Err: syscall.EIO}:     "500 open t/x: input/output error",
	} {
		answer := fileError(err, "/data/alloc")
		if got := fmt.Sprint(statusOf(answer), " ", answer); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := statusOf(errors.New("x")); got != http.StatusInternalServerError {
		t.Errorf("another error: %d", got)
	}
}

// brokenAfter is a client that can be sent to a number of times.
type brokenAfter int

var errClientGone = errors.New("the client is gone")

func (n *brokenAfter) Write(p []byte) (int, error) {
	if *n--; *n < 0 {
		return 0, errClientGone
	}
	return len(p), nil
}

// A frame of a file that cannot be sent ends the stream, whichever it is.
func TestFramesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for event, frames := range map[string]int{"": 1, fileTruncated: 2, fileDeleted: 2} {
		for sent := range frames + 1 {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			client := brokenAfter(sent)
			s := fileStream{
				logWriter: logWriter{w: &client, control: http.NewResponseController(httptest.NewRecorder())},
				place:     &place{name: "x"}, file: f,
			}
			if err := s.send(event); errors.Is(err, errClientGone) != (sent < frames) {
				t.Errorf("event %q after %d frames: %v", event, sent, err)
			}
		}
	}
}

// When events of files are lost, everybody looks at his file.
func TestLostFileEventsWakeAll(t *testing.T) {
	t.Parallel()
	var w watches
	a, leaveA := w.follow(t.TempDir())
	b, leaveB := w.follow(t.TempDir())
	for range 2 { // the second is told again, though nobody has listened
		w.watcher.Errors <- fsnotify.ErrEventOverflow
	}
	for _, wake := range []<-chan struct{}{a, b} {
		select {
		case <-wake:
		case <-time.After(10 * time.Second):
			t.Error("one was not woken")
		}
	}
	leaveA()
	leaveB()
	if w.watcher != nil || len(w.waiting) > 0 {
		t.Error("there is still a watcher")
	}
}
