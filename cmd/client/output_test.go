package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// logServer keeps an output in files, like a node of a cluster.
type logServer struct {
	files  []string // their texts
	first  int      // number of the oldest file
	denied bool     // files cannot be listed
	asked  []string // origin and offset of each read, and whether it follows
	breaks bool     // after the first frame
}

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := func(i int) string { return fmt.Sprintf("t.stdout.%d", s.first+i) }
	if strings.HasPrefix(r.URL.Path, "/v1/client/fs/ls/") {
		if s.denied {
			http.Error(w, "Permission denied", http.StatusForbidden)
			return
		}
		list := []*api.AllocFileInfo{{Name: "t.stderr.7", Size: 1000}, {Name: ".t.stdout.fifo"}}
		for i, text := range s.files {
			list = append(list, &api.AllocFileInfo{Name: name(i), Size: int64(len(text))})
		}
		slices.Reverse(list) // they come by name, in which 10 is before 9
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	q := r.URL.Query()
	asked := q.Get("origin") + " " + q.Get("offset")
	if q.Get("follow") == "true" {
		asked += " follow"
	}
	s.asked = append(s.asked, asked)
	var offset int
	_, _ = fmt.Sscan(q.Get("offset"), &offset)
	text := strings.Join(s.files, "")
	if q.Get("origin") == api.OriginEnd {
		offset = max(0, len(text)-offset)
	}
	if q.Get("plain") == "true" {
		_, _ = fmt.Fprint(w, text[offset:])
		return
	}
	frames := json.NewEncoder(w)
	for i, text := range s.files {
		if offset >= len(text) {
			offset -= len(text)
			continue
		}
		_ = frames.Encode(api.StreamFrame{File: path.Join(logDir, name(i)), Data: []byte(text[offset:]), Offset: int64(len(text))})
		_ = frames.Encode(struct{}{}) // a sign of life
		if offset = 0; s.breaks {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// read continues reading from a position.
func (s *logServer) read(t *testing.T, from Position) (text string, at Position, err error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	task := s.task(t, server)
	at, err = LogFiles{task, event.Stdout}.Read(t.Context(), from, false, func(piece []byte) error {
		text += string(piece)
		return nil
	})
	return text, at, err
}

func (s *logServer) task(t *testing.T, server *httptest.Server) *Task {
	t.Helper()
	remote, err := Remote(Cluster{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &Task{Server: remote, Alloc: &api.AllocationListStub{ID: "1"}, Name: "t"}
}

// Reading continues where it was, however the files have been rotated.
func TestReadingContinues(t *testing.T) {
	t.Parallel()
	s := &logServer{files: []string{"abc", "de"}}
	text, at, err := s.read(t, Position{})
	want := Position{File: "alloc/logs/t.stdout.1", Offset: 2, Read: 5}
	if err != nil || text != "abcde" || at != want {
		t.Fatalf("%q, %+v, %v", text, at, err)
	}
	for _, c := range []struct {
		name   string
		server logServer
		text   string
		asked  string
		lost   bool
	}{
		{"nothing new", logServer{files: []string{"abc", "de"}}, "", "start 5", false},
		{"more in the file", logServer{files: []string{"abc", "def"}}, "f", "start 5", false},
		{"another file, and the oldest is gone", logServer{files: []string{"def", "gh"}, first: 1}, "fgh", "start 2", false},
		{"all that was read is gone", logServer{files: []string{"xyz"}, first: 5}, "xyz", "start 0", true},
		{"files may not be listed", logServer{files: []string{"abc", "def"}, denied: true}, "f", "start 5", false},
	} {
		text, now, err := c.server.read(t, at)
		if err != nil || text != c.text || now.Lost != c.lost || !cmp.Equal(c.server.asked, []string{c.asked}) {
			t.Errorf("%s: %q, asked %q; %v", c.name, text, c.server.asked, err)
		}
	}
}

func TestOutputBreaksOff(t *testing.T) {
	t.Parallel()
	s := &logServer{files: []string{"abc", "de"}, breaks: true}
	text, at, err := s.read(t, Position{})
	if text != "abc" || at.Read != 3 || err == nil || !strings.Contains(err.Error(), ErrBrokeOff.Error()) {
		t.Fatalf("%q, %+v, %v", text, at, err)
	}
	s.breaks = false
	if text, _, err = s.read(t, at); text != "de" || err != nil {
		t.Errorf("then %q, %v", text, err)
	}
}

func TestTheLastLinesOfAnOutput(t *testing.T) {
	t.Parallel()
	s := &logServer{files: []string{"one\ntwo\nth", "ree\nfour\n"}, first: 3}
	server := httptest.NewServer(s)
	defer server.Close()
	task := s.task(t, server)
	for lines, want := range []Position{
		{File: "alloc/logs/t.stdout.4", Offset: 9, Read: 19},
		{File: "alloc/logs/t.stdout.4", Offset: 4, Read: 14},
		{File: "alloc/logs/t.stdout.3", Offset: 8, Read: 8},
		{File: "alloc/logs/t.stdout.3", Offset: 4, Read: 4},
		{File: "alloc/logs/t.stdout.3", Offset: 0, Read: 0},
		{File: "alloc/logs/t.stdout.3", Offset: 0, Read: 0},
	} {
		if at, err := (LogFiles{task, event.Stdout}).Back(t.Context(), lines); err != nil || at != want {
			t.Errorf("%d lines: %+v, want %+v; %v", lines, at, want, err)
		}
	}
	if at := (LogFiles{task, event.Stdout}).end(t.Context()); at != (Position{File: "alloc/logs/t.stdout.4", Offset: 9, Read: 19}) {
		t.Errorf("the end is at %+v", at)
	}
}

// Following from the end starts after all existing output; if files cannot be
// listed, the server finds the end.
func TestTheEndOfAnOutput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server      logServer
		asked, text string
	}{
		"there is some":           {logServer{files: []string{"abc", "de"}, first: 4}, "start 5", ""},
		"there is none yet":       {logServer{}, "start 0", ""},
		"files may not be listed": {logServer{files: []string{"abc"}, denied: true}, "end 0", ""},
	} {
		text, at, err := tt.server.read(t, Position{End: true})
		if err != nil || text != tt.text || !cmp.Equal(tt.server.asked, []string{tt.asked}) {
			t.Errorf("%s: %q at %+v, asked %q; %v", name, text, at, tt.server.asked, err)
		}
	}
}

// Lost output stays lost, and the next file is no loss.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from Position
		lost bool
	}{
		{Position{File: "alloc/logs/t.stdout.1", Offset: 1}, true},
		{Position{File: "alloc/logs/t.stdout.2", Offset: 1}, false},
		{Position{File: "alloc/logs/t.stdout.2", Offset: 1, Lost: true}, true},
		{Position{File: "alloc/logs/t.stdout.3", Offset: 1}, false},
	} {
		s := logServer{files: []string{"abc", "de"}, first: 3}
		if _, at, err := s.read(t, tt.from); err != nil || at.Lost != tt.lost || at.Offset != 2 {
			t.Errorf("from %+v: at %+v, %v", tt.from, at, err)
		}
	}
}

// The search for long lines goes ever farther back, and an error names its
// request.
func TestTheLastLinesOfALongOutput(t *testing.T) {
	t.Parallel()
	s := &logServer{files: []string{strings.Repeat("x", 100<<10) + "\n", strings.Repeat("y", 100<<10) + "\n"}}
	server := httptest.NewServer(s)
	defer server.Close()
	task := s.task(t, server)
	const size = 100<<10 + 1
	for lines, want := range map[int]Position{
		1: {File: "alloc/logs/t.stdout.1", Read: size}, 2: {File: "alloc/logs/t.stdout.0"}, 0: {File: "alloc/logs/t.stdout.1", Offset: size, Read: 2 * size},
	} {
		if at, err := (LogFiles{task, event.Stdout}).Back(t.Context(), lines); err != nil || at != want {
			t.Errorf("%d lines: %+v, want %+v; %v", lines, at, want, err)
		}
	}
	s.asked = nil
	if _, err := (LogFiles{task, event.Stdout}).Back(t.Context(), 1); err != nil || !cmp.Equal(s.asked, []string{"start 139266", "start 0"}) {
		t.Errorf("asked %q, %v", s.asked, err)
	}
	s.denied = true
	var refused *RefusedError
	if _, err := (LogFiles{task, event.Stdout}).Back(t.Context(), 1); !errors.As(err, &refused) || refused.Code != http.StatusForbidden {
		t.Errorf("error %v", err)
	}
	list := &nomad{code: http.StatusNotFound, answers: map[string][]any{"/v1/client/fs/ls/1": {[]api.AllocFileInfo{{Name: "t.stdout.0", Size: 5}}}}}
	if _, err := (LogFiles{onTask(list.server(t, "")), event.Stdout}).Back(t.Context(), 1); !errors.As(err, &refused) || refused.Code != http.StatusNotFound {
		t.Errorf("error %v", err)
	}
}
