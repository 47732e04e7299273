package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Outputs are shown from their last lines on, also of tasks that start later,
// and each end is told once.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tail    int
		streams []event.Stream
		first   []string // that is shown
	}{
		"all":           {-1, both, []string{`1/a stderr "err"`, `1/a stdout "one\ntwo\n"`}},
		"the last line": {1, []event.Stream{event.Stdout}, []string{`1/a stdout "two\n"`}},
		"what comes":    {0, []event.Stream{event.Stdout}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.outputs["1/a.stdout"], w.outputs["1/a.stderr"], w.outputs["1/b.stdout"] = "one\ntwo\n", "err", "not wanted"
			running := map[string]*api.TaskState{"a": state("running", ""), "b": state("running", ""), "later": {State: "pending"}}
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, running))})
			var mu sync.Mutex
			var shown []string
			note := func(line string) error {
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, line)
				return nil
			}
			news := func() []string {
				mu.Lock()
				defer mu.Unlock()
				all := shown
				shown = nil
				slices.Sort(all)
				return all
			}
			enough := errors.New("enough")
			l := &Logs{
				Job: "web", Tail: tt.tail, Streams: tt.streams,
				Want: func(tasks []*client.Task) []*client.Task {
					return slices.DeleteFunc(tasks, func(t *client.Task) bool { return t.Name == "b" })
				},
				Show: func(alloc *event.Alloc, task string, stream event.Stream, piece []byte) error {
					if string(piece) == "enough" {
						return enough
					}
					return note(fmt.Sprintf("%s/%s %s %q", alloc.ID, task, stream, piece))
				},
				Ended: func(alloc *event.Alloc, task string) error { return note(alloc.Name + "/" + task + " has ended") },
				Say:   func(text string) { _ = note(text) },
			}
			ended := make(chan error, 1)
			server := w.server(t)
			go func() { ended <- l.Follow(t.Context(), server) }()
			w.set(nil)
			if diff := cmp.Diff(tt.first, news()); diff != "" {
				t.Errorf("%s: first %s", name, diff)
			}
			asked := slices.Clone(w.asked)
			w.write("1/a.stdout", "three\n")
			if again := w.asked[len(asked):]; slices.ContainsFunc(again, func(path string) bool { return path != "/v1/job/web/allocations" }) {
				t.Errorf("%s: what is followed is asked for again: %q", name, again)
			}
			if got := news(); !slices.Equal(got, []string{`1/a stdout "three\n"`}) {
				t.Errorf("%s: then %q", name, got)
			}
			w.outputs["1/later.stdout"] = "late\n"
			running["later"] = state("running", "")
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, running))})
			news()
			w.outputs["1/a.stdout"] += "last"
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "complete", 100, running))})
			if got := news(); !slices.Equal(got, []string{`1/a stdout "last"`, "web.g[0]/a has ended", "web.g[0]/later has ended"}) {
				t.Errorf("%s: at the end %q", name, got)
			}
			w.outputs["2/a.stdout"] = "x"
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "complete", 100, running), stub("2", "running", 100, running))})
			news()
			w.write("2/a.stdout", "enough")
			w.set(nil)
			select {
			case err := <-ended:
				if !errors.Is(err, enough) {
					t.Errorf("%s: error %v", name, err)
				}
			default:
				t.Errorf("%s: it goes on when nothing can be shown any more", name)
			}
			if got := news(); got != nil {
				t.Errorf("%s: after the end %q", name, got)
			}
		})
	}
}

// Logs end with the end that cannot be told and with tasks that may not be
// listed; where files may not be listed, what comes is followed.
func TestLogsEnd(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, tt := range map[string]struct {
		refused, status string
		ended           error
	}{
		"tasks are refused":      {"/v1/job/web/allocations", "running", nil},
		"an end cannot be told":  {"", "complete", enough},
		"files cannot be listed": {"/v1/client/fs/ls/1", "complete", enough},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			if tt.refused != "" {
				w.refused[tt.refused] = http.StatusForbidden
			}
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", tt.status, 100, map[string]*api.TaskState{"t": state("dead", "")}))})
			l := &Logs{
				Job: "web", Tail: 1, Streams: both, Want: func(tasks []*client.Task) []*client.Task { return tasks },
				Ended: func(*event.Alloc, string) error { return tt.ended }, Say: func(string) {},
				Show: func(*event.Alloc, string, event.Stream, []byte) error { return nil },
			}
			err := l.Follow(t.Context(), w.server(t))
			var refused *client.RefusedError
			if errors.As(err, &refused) == (tt.ended != nil) || tt.ended != nil && !errors.Is(err, tt.ended) {
				t.Errorf("%s: error %v", name, err)
			}
		})
	}
}
