package client

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
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
		out, err := tt.server.task(t, server).Open(t.Context(), Log{Stream: event.Stdout, Tail: tt.tail})
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
		_, err := onTask(refused.server(t, "")).Open(t.Context(), Log{Stream: event.Stdout, Tail: tail})
		if want := `cannot read stdout of task "t" of http://nomad: it answered 403: no`; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// keptOutput is an output of a run that has ended.
type keptOutput struct{ io.ReadCloser }

func (keptOutput) Time() time.Time { return time.Unix(1, 0) }

// An output of a run that has ended is opened by the run.
func TestOpenAKeptOutput(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	part := Log{Stream: event.Stderr, Tail: 2, Since: time.Unix(2, 0)}
	for _, failure := range []error{nil, broken} {
		kept := keptOutput{io.NopCloser(strings.NewReader("text"))}
		task := Kept(&api.AllocationListStub{Name: "web.g[3]"}, "t", &api.TaskState{}, func(l Log) (Output, error) {
			if l != part {
				t.Errorf("opened %+v", l)
			}
			return kept, failure
		})
		if task.Index != 3 || task.Name != "t" || task.State == nil || task.Server == nil {
			t.Errorf("it is %+v", task)
		}
		if out, err := task.Open(t.Context(), part); !errors.Is(err, failure) || out != kept {
			t.Errorf("%v, %v", out, err)
		}
	}
}
