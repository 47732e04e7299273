package files

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// tasks is an engine with an allocation "a" of these tasks.
type tasks struct {
	event.Bus
	list []*api.Task
}

func (e *tasks) Alloc(id string) (engine.Alloc, bool) {
	job := &api.Job{TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: e.list}}}
	a := engine.Alloc{Job: job, Dir: "/nowhere", Alloc: event.Alloc{ID: id, Group: "g"}}
	a.Tasks = map[string]*api.TaskState{"waits": {}}
	for _, t := range e.list {
		a.Tasks[t.Name] = &api.TaskState{StartedAt: time.Unix(1, 0)}
	}
	return a, id == "a"
}

// text is a source of output.
type text string

func (s text) ReadAt(p []byte, offset int64) (int, error) { return copy(p, s[offset:]), nil }
func (text) Retain()                                      {}
func (text) Release()                                     {}

// The job says for each task whether its output is kept; other output can only be
// followed.
func TestDisabledLogs(t *testing.T) {
	t.Parallel()
	h := New(&tasks{list: []*api.Task{
		{Name: "plain"},
		{Name: "unsaid", LogConfig: &api.LogConfig{}},
		{Name: "kept", LogConfig: &api.LogConfig{Disabled: new(false)}},
		{Name: "disabled", LogConfig: &api.LogConfig{Disabled: new(true)}},
	}})
	const refused = `log entry for task "disabled" and log type "stdout" not found: the job disables logs`
	for _, c := range []struct {
		alloc, task      string
		follow, disabled bool
		err              string
	}{
		{"a", "plain", false, false, ""},
		{"a", "unsaid", false, false, ""},
		{"a", "kept", false, false, ""},
		{"a", "kept", true, false, ""},
		{"a", "disabled", true, true, ""},
		{"a", "disabled", false, true, refused},
		{"a", "waits", false, false, `task "waits" not started yet. No logs available`},
		{"a", "nope", false, false, `unknown task name "nope"`},
		{"b", "plain", false, false, `Unknown allocation "b"`},
	} {
		q := logsQuery{outputKey: outputKey{c.alloc, c.task, event.Stdout}, follow: c.follow}
		err := h.findLogs(&q)
		if q.disabled != c.disabled || (q.dir == "/nowhere/alloc/logs") != (c.err == "") || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s of %s, followed: %t: %+v, %v", c.task, c.alloc, c.follow, q, err)
		}
	}
}

// answer is a response that calls flushed with the number of each flush.
type answer struct {
	*httptest.ResponseRecorder
	flushes int
	flushed func(int)
}

func (a *answer) Flush() {
	a.flushes++
	a.flushed(a.flushes)
}

// A follower of output that is not kept gets it as it comes. At the end of the server it
// is cut off, unless it wants plain text.
func TestMemoryLogs(t *testing.T) {
	t.Parallel()
	for plain, want := range map[bool]string{false: `{"Data":"eWVz"}`, true: "yes"} {
		e, out := &tasks{}, &answer{ResponseRecorder: httptest.NewRecorder()}
		ctx, cancel := context.WithCancel(t.Context())
		out.flushed = func(n int) {
			if n > 1 {
				cancel() // the server ends after the first piece
				return
			}
			for task, piece := range map[string]text{"another": "no", "t": "yes"} {
				e.PublishAt(time.Now(), &event.Alloc{ID: "a"}, task, event.Output{Source: piece, Length: int64(len(piece))})
			}
		}
		var cut any
		func() {
			defer func() { cut = recover() }()
			r := &rest.Request{Request: httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), Answer: out}
			if err := New(e).memoryLogs(r, logsQuery{outputKey: outputKey{"a", "t", event.Stdout}, plain: plain}); err != nil {
				t.Error(err)
			}
		}()
		if (cut == http.ErrAbortHandler) == plain {
			t.Errorf("plain: %t: it ends with %v", plain, cut)
		}
		if got := out.Body.String(); got != want || out.flushes != 2 {
			t.Errorf("plain: %t: %s after %d flushes", plain, got, out.flushes)
		}
	}
}
