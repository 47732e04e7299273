package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Outputs are shown from their last lines on, including those of tasks that
// start later, and each end is reported once.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tail    int
		streams []event.Stream
		first   []string // shown first
	}{
		"all":           {-1, event.Streams, []string{`1/a stderr "err"`, `1/a stdout "one\ntwo\n"`}},
		"the last line": {1, []event.Stream{event.Stdout}, []string{`1/a stdout "two\n"`}},
		"what comes":    {0, []event.Stream{event.Stdout}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.outputs["1/a.stdout"], w.outputs["1/a.stderr"], w.outputs["1/b.stdout"] = "one\ntwo\n", "err", "not wanted"
			running := map[string]*api.TaskState{"a": state("running", ""), "b": state("running", ""), "later": {State: "pending"}}
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, running))})
			enough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			l := NewLogs(w.server(t))
			l.Job, l.Tail, l.Streams = "web", tt.tail, tt.streams
			l.Want = func(tasks []*client.Task) []*client.Task {
				return slices.DeleteFunc(tasks, func(t *client.Task) bool { return t.Name == "b" })
			}
			shown := &watched{sub: l.Subscribe(true)}
			next := func() []string {
				all := shown.lines(t)
				for i := range all {
					_, of, _ := strings.Cut(all[i], "1/") // without the time
					all[i] = "1/" + of
				}
				slices.Sort(all)
				return all
			}
			ended := make(chan error, 1)
			go func() { ended <- l.Follow(ctx) }()
			w.set(nil)
			if diff := cmp.Diff(tt.first, next()); diff != "" {
				t.Errorf("%s: first %s", name, diff)
			}
			asked := slices.Clone(w.asked)
			w.write("1/a.stdout", "three\n")
			if again := w.asked[len(asked):]; slices.ContainsFunc(again, func(path string) bool { return path != "/v1/job/web/allocations" }) {
				t.Errorf("%s: what is followed is asked for again: %q", name, again)
			}
			if got := next(); !slices.Equal(got, []string{`1/a stdout "three\n"`}) {
				t.Errorf("%s: then %q", name, got)
			}
			w.outputs["1/later.stdout"] = "late\n"
			running["later"] = state("running", "")
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, running))})
			next()
			w.outputs["1/a.stdout"] += "last"
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "complete", 100, running))})
			if got := next(); !slices.Equal(got, []string{"1/a is dead", `1/a stdout "last"`, "1/later is dead"}) {
				t.Errorf("%s: at the end %q", name, got)
			}
			cancel(enough)
			synctest.Wait()
			select {
			case err := <-ended:
				if !errors.Is(err, enough) {
					t.Errorf("%s: error %v", name, err)
				}
			default:
				t.Errorf("%s: it goes on when it was left", name)
			}
			if got := next(); got != nil {
				t.Errorf("%s: after the end %q", name, got)
			}
			if e, ok := shown.sub.Next(t.Context()); ok {
				t.Errorf("%s: after the end %+v", name, e)
			}
		})
	}
}

// Logs end with an error if tasks cannot be listed; if files cannot be listed,
// new output is followed.
func TestLogsEnd(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]string{"/v1/job/web/allocations": "", "/v1/client/fs/ls/1": "new"} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.refused[refused] = http.StatusForbidden
			w.outputs["1/t.stdout"] = "old"
			w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, map[string]*api.TaskState{"t": state("running", "")}))})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := NewLogs(w.server(t))
			l.Job, l.Tail = "web", 1
			shown, ended := &watched{sub: l.Subscribe(true)}, make(chan error, 1)
			go func() { ended <- l.Follow(ctx) }()
			w.set(nil)
			w.write("1/t.stdout", "new")
			if got := strings.Join(shown.lines(t), ""); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%s is refused: shown %q", refused, got)
			}
			cancel()
			synctest.Wait()
			var answer *client.RefusedError
			if err := <-ended; errors.As(err, &answer) != (want == "") {
				t.Errorf("%s is refused: error %v", refused, err)
			}
		})
	}
}

// A cluster that does not answer for a while is asked again.
func TestLogsAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const list = "/v1/job/web/allocations"
		w := newFakeCluster()
		w.refused[list] = http.StatusBadGateway
		w.outputs["1/t.stdout"] = "text"
		w.set(map[string]any{"job/web/allocations": stubs(stub("1", "running", 100, map[string]*api.TaskState{"t": state("running", "")}))})
		l := NewLogs(w.server(t))
		l.Job, l.Tail = "web", -1
		shown := watch(t, l)
		w.set(nil)
		if err, ended := shown.end(); ended {
			t.Fatalf("it ends: %v", err)
		}
		w.mu.Lock()
		delete(w.refused, list)
		w.mu.Unlock()
		<-time.After(maxPause)
		w.set(nil)
		if got := strings.Join(shown.lines(t), ""); !strings.Contains(got, `1/t stdout "text"`) {
			t.Errorf("shown %q", got)
		}
	})
}

// Outputs have no past, and cannot be stopped.
func TestLogsHaveNoSummary(t *testing.T) {
	t.Parallel()
	l := NewLogs(nil)
	if past, err := l.Past(t.Context()); past != nil || err != nil {
		t.Errorf("past %v, %v", past, err)
	}
	if err := l.Stop(t.Context(), true); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
