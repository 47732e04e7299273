package client

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"a", 1, "a"},
		{"a\n", 1, "a\n"},
		{"a\nb\n", 1, "b\n"},
		{"a\nb", 1, "b"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 4, "a\nb\nc\n"},
		{"a\n\n\n", 2, "\n\n"},
		{"\n", 1, "\n"},
		{"a\nb\n", 0, ""},
	} {
		if got := string(lastLines([]byte(c.text), c.n)); got != c.want {
			t.Errorf("last %d of %q: %q, want %q", c.n, c.text, got, c.want)
		}
	}
	long := strings.Repeat("a line\n", 100_000)
	if got := lastLines([]byte(long), 99_999); len(got) != len(long)-7 {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
}

// An output is opened at its last lines, however much has to be read for that.
func TestOpenAnOutput(t *testing.T) {
	t.Parallel()
	const short = "one\ntwo\nthree\n"
	long := "first\n" + strings.Repeat("x", firstTail) + "\n"
	exact := strings.Repeat("x", firstTail-1) + "\n"
	for name, tt := range map[string]struct {
		server logServer
		tail   int
		text   string
		asked  string
		err    string
	}{
		"all":                       {logServer{files: []string{short}}, -1, short, "start 0", ""},
		"none":                      {logServer{files: []string{short}}, 0, "", "end 65536", ""},
		"one line":                  {logServer{files: []string{short}}, 1, "three\n", "end 65536", ""},
		"more lines than there are": {logServer{files: []string{short}}, 9, short, "end 65536", ""},
		"a long line":               {logServer{files: []string{long}}, 1, long[6:], "end 65536, end 262144", ""},
		"as long as what is read":   {logServer{files: []string{exact}}, 1, exact, "end 65536, end 262144", ""},
	} {
		server := httptest.NewServer(&tt.server)
		out, err := tt.server.task(t, server).Open(t.Context(), Log{Stream: "stdout", Tail: tt.tail})
		text := ""
		if err == nil {
			all, readErr := io.ReadAll(out)
			if err = errors.Join(readErr, out.Close()); err == nil {
				text = string(all)
			}
		}
		server.Close()
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if text != tt.text {
			t.Errorf("%s: %s", name, cmp.Diff(tt.text, text))
		}
		if asked := strings.Join(tt.server.asked, ", "); asked != tt.asked {
			t.Errorf("%s: asked %q, want %q", name, asked, tt.asked)
		}
	}
	refused := &nomad{code: 403}
	for _, tail := range []int{-1, 0, 1} {
		_, err := onTask(refused.server(t, "")).Open(t.Context(), Log{Stream: "stdout", Tail: tail})
		if want := `cannot read stdout of task "t" of http://nomad: it answered 403: no`; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// keptOutput is an output of a run that has ended, whose closing may fail.
type keptOutput struct {
	io.Reader
	closed   bool
	closeErr error
}

func (k *keptOutput) Close() error {
	k.closed = true
	return k.closeErr
}

// An output of a run that has ended is read from its files.
func TestOpenAKeptOutput(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		tail              int
		openErr, closeErr error
		text              string
	}{
		"all": {-1, nil, nil, "one\ntwo\n"}, "one line": {1, nil, nil, "two\n"}, "none": {0, nil, nil, ""},
		"that cannot be opened": {1, broken, nil, ""}, "that cannot be closed": {1, nil, broken, ""},
	} {
		kept := &keptOutput{Reader: strings.NewReader("one\ntwo\n"), closeErr: tt.closeErr}
		task := Kept(&api.AllocationListStub{Name: "web.g[3]"}, "t", &api.TaskState{}, func(stream string) (io.ReadCloser, error) {
			if stream != "stderr" {
				t.Errorf("%s: opened %s", name, stream)
			}
			return kept, tt.openErr
		})
		if task.Index != 3 || task.Name != "t" || task.State == nil || task.Server == nil {
			t.Errorf("%s: it is %+v", name, task)
		}
		out, err := task.Open(t.Context(), Log{Stream: "stderr", Tail: tt.tail})
		if fails := tt.openErr != nil || tt.closeErr != nil; fails {
			if !errors.Is(err, broken) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(out)
		if err = errors.Join(err, out.Close()); err != nil || string(text) != tt.text || !kept.closed {
			t.Errorf("%s: %q, %v, closed %t", name, text, err, kept.closed)
		}
	}
}
