package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// A follower of a file gets what is appended, and learns when the file is
// truncated, replaced or deleted.
func TestChangesOfAFile(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(name string) error
		want   []api.StreamFrame // without the name
		gone   bool
	}{
		"nothing":   {func(string) error { return nil }, nil, false},
		"appended":  {func(name string) error { return os.WriteFile(name, []byte("plain, more"), 0o600) }, []api.StreamFrame{{Data: []byte(", more"), Offset: 11}}, false},
		"truncated": {func(name string) error { return os.WriteFile(name, []byte("new"), 0o600) }, []api.StreamFrame{{FileEvent: fileTruncated}, {Data: []byte("new"), Offset: 3}}, false},
		"deleted":   {os.Remove, []api.StreamFrame{{FileEvent: fileDeleted}}, true},
		"replaced": {func(name string) error {
			return errors.Join(os.WriteFile(name+"2", []byte("other"), 0o600), os.Rename(name+"2", name))
		}, []api.StreamFrame{{FileEvent: fileDeleted}}, true},
	} {
		dir := allocated(t)
		p, err := walkTo(dir, "t/local/d/token")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		f, _, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var out bytes.Buffer
		s := fileStream{Frames: &rest.Frames{W: &out, Control: http.NewResponseController(httptest.NewRecorder())}, place: p, file: f}
		if err := errors.Join(s.send(""), c.change(filepath.Join(dir, "t/local/d/token"))); err != nil {
			t.Fatal(err)
		}
		if gone, err := s.look(); gone != c.gone || err != nil {
			t.Errorf("%s: gone: %t, %v", what, gone, err)
		}
		want := append([]api.StreamFrame{{Data: []byte("plain"), Offset: 5}}, c.want...)
		for i := range want {
			want[i].File = "t/local/d/token"
		}
		var got []api.StreamFrame
		for d := json.NewDecoder(&out); d.More(); {
			var frame api.StreamFrame
			if err := d.Decode(&frame); err != nil {
				t.Fatal(err)
			}
			got = append(got, frame)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// The entries of a directory are sorted, and may be none.
func TestEntries(t *testing.T) {
	t.Parallel()
	dir := allocated(t)
	if err := os.Mkdir(filepath.Join(dir, "t/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".": "alloc t", "t": "empty local secrets", "t/empty": ""} {
		p, err := walkTo(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		entries, err := p.entries()
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	p, err := walkTo(dir, "t/secrets/token")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.entries(); rest.StatusOf(err) != http.StatusNotFound || err.Error() != "readdir t/secrets/token: not a directory" {
		t.Errorf("of a file: %v", err)
	}
}

// The type of a file is that of its name or else of its content.
func TestContentType(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for name, c := range map[string]struct{ text, want string }{
		"a.json": {"text", "application/json"}, "a": {"text", "text/plain; charset=utf-8"}, "b": {"\x89PNG\r\n\x1a\n", "image/png"},
		"c": {"", "text/plain; charset=utf-8"}, "d": {"\x00\x01", "application/octet-stream"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := contentType(f, name); got != c.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if kind, err := contentType(d, "d"); kind != "" || err == nil {
		t.Errorf("a directory: %q, %v", kind, err)
	}
}

// An output is that of one stream of one task of one allocation.
func TestOutputKey(t *testing.T) {
	t.Parallel()
	key := outputKey{"a", "t", event.Stdout}
	for _, c := range []struct {
		e    event.Event
		want bool
	}{
		{event.Event{Alloc: &event.Alloc{ID: "a"}, Task: "t", Body: event.Output{Stream: event.Stdout}}, true},
		{event.Event{Alloc: &event.Alloc{ID: "a"}, Task: "t", Body: event.Output{Stream: event.Stderr}}, false},
		{event.Event{Alloc: &event.Alloc{ID: "b"}, Task: "t", Body: event.Output{Stream: event.Stdout}}, false},
		{event.Event{Alloc: &event.Alloc{ID: "a"}, Task: "u", Body: event.Output{Stream: event.Stdout}}, false},
		{event.Event{Alloc: &event.Alloc{ID: "a"}, Task: "t", Body: event.TaskState{}}, false},
	} {
		if key.includes(c.e) != c.want {
			t.Errorf("%+v", c.e)
		}
	}
}

// Outputs are announced until their allocation has ended; a new file hurries.
func TestAnnouncedOutputs(t *testing.T) {
	t.Parallel()
	a := &announcer{alloc: "a", hurry: make(chan struct{}, 1), outputs: map[string]map[outputKey]*announced{}}
	of := func(alloc string, body event.Body) event.Event {
		return event.Event{Alloc: &event.Alloc{ID: alloc}, Task: "t", Body: body}
	}
	hurries := func() bool {
		select {
		case <-a.hurry:
			return true
		default:
			return false
		}
	}
	first, second := source{errors.New("1")}, source{errors.New("2")}
	for _, c := range []struct {
		what                string
		e                   event.Event
		wanted, hurry, kept bool
	}{
		{"of no allocation", event.Event{Body: event.Notice{}}, false, false, false},
		{"of another one", of("b", event.Output{Source: first}), false, false, false},
		{"a file", of("a", event.Output{Source: first}), true, true, true},
		{"more of it", of("a", event.Output{Source: first}), true, false, true},
		{"another file", of("a", event.Output{Source: second}), true, true, true},
		{"it runs", of("a", event.AllocStatus{Status: "running"}), false, false, true},
		{"another one ends", of("b", event.AllocStatus{Status: "failed"}), false, false, true},
		{"it is complete", of("a", event.AllocStatus{Status: "complete"}), false, false, false},
		{"more of it, later", of("a", event.Output{Source: second}), true, true, true},
		{"it has failed", of("a", event.AllocStatus{Status: "failed"}), false, false, false},
	} {
		if wanted := a.wants(c.e); wanted != c.wanted || hurries() != c.hurry || (len(a.outputs) > 0) != c.kept {
			t.Errorf("%s: wanted %t, outputs %v", c.what, wanted, a.outputs)
		}
	}
}
