package files

import (
	"bytes"
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
	"time"

	"github.com/fsnotify/fsnotify"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// source is a source of output that cannot be read.
type source struct{ error }

func (s source) ReadAt([]byte, int64) (int, error) { return 0, s.error }
func (source) Retain()                             {}
func (source) Release()                            {}

// A frame says how much of an output in memory is omitted.
func TestOmittedOutput(t *testing.T) {
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
		err := errors.Join(pass(&rest.Frames{W: &frames}, tt.body), pass(&rest.Frames{W: &plain, Plain: true}, tt.body))
		if (err == nil) == (tt.want == "") || err != nil && !strings.Contains(err.Error(), "cannot read output: no disk") {
			t.Errorf("%s: %v", name, err)
		}
		if want := fmt.Sprintf(`{"FileEvent":%q}`, tt.want); tt.want != "" && frames.String() != want || plain.Len() > 0 {
			t.Errorf("%s: %s, plain %q", name, &frames, &plain)
		}
	}
}

// An error of a file has a status, and does not reveal its absolute path.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		syscall.ENOENT:  "404 open t/x: no such file or directory",
		syscall.ENOTDIR: "404 open t/x: not a directory",
		syscall.EACCES:  "403 open t/x: permission denied",
		syscall.EIO:     "500 open t/x: input/output error",
	} {
		answer := fileError("open", "t/x", &fs.PathError{Op: "open", Path: "/data/alloc/t/x", Err: err})
		if got := fmt.Sprint(rest.StatusOf(answer), " ", answer); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := rest.StatusOf(errors.New("x")); got != http.StatusInternalServerError {
		t.Errorf("another error: %d", got)
	}
}

// brokenAfter is a client that accepts a number of writes.
type brokenAfter int

var errClientGone = errors.New("the client is gone")

func (n *brokenAfter) Write(p []byte) (int, error) {
	if *n--; *n < 0 {
		return 0, errClientGone
	}
	return len(p), nil
}

// Any frame that cannot be sent ends the stream.
func TestUnsendableFrames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(leaktest.TempDir(t), "x")
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
				Frames: &rest.Frames{W: &client, Control: http.NewResponseController(httptest.NewRecorder())},
				place:  &place{name: "x"}, file: f,
			}
			if err := s.send(event); errors.Is(err, errClientGone) != (sent < frames) {
				t.Errorf("event %q after %d frames: %v", event, sent, err)
			}
		}
	}
}

// When events of files are lost, all followers check their files.
func TestLostFileEventsWakeAll(t *testing.T) {
	t.Parallel()
	var w watches
	a, leaveA := w.follow(leaktest.TempDir(t))
	b, leaveB := w.follow(leaktest.TempDir(t))
	for range 2 { // the second one arrives although the first was not read
		w.watcher.Errors <- fsnotify.ErrEventOverflow
	}
	for _, wake := range []<-chan struct{}{a, b} {
		select {
		case <-wake:
		case <-time.After(time.Minute):
			t.Error("one was not woken")
		}
	}
	leaveA()
	leaveB()
	if w.watcher != nil || len(w.waiting) > 0 {
		t.Error("there is still a watcher")
	}
}
