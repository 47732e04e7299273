package fold

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// first is the allocation of the job that job returns.
var first = &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "11111111"}

func job(tasks ...*api.Task) *api.Job {
	j := &api.Job{ID: new("j"), TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: tasks}}}
	j.Canonicalize()
	return j
}

func task(name, hook string, sidecar bool) *api.Task {
	t := &api.Task{Name: name}
	if hook != "" {
		t.Lifecycle = &api.TaskLifecycle{Hook: hook, Sidecar: sidecar}
	}
	return t
}

func TestWaitingTasksNameWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	type wait struct {
		task  string
		what  Awaited
		tasks []string
	}
	migrate, proxy, web := []string{"migrate"}, []string{"proxy"}, []string{"web"}
	for _, c := range []struct {
		name   string
		states map[string]event.TaskState // pending if missing
		want   []wait
	}{
		{
			"prestart runs",
			map[string]event.TaskState{"migrate": {State: "running"}, "proxy": {State: "running"}},
			[]wait{{"web", PrestartEnd, migrate}, {"warm-up", MainStart, web}},
		},
		{
			"prestart failed",
			map[string]event.TaskState{"migrate": {State: "dead", Failed: true}, "proxy": {State: "running"}},
			[]wait{{"web", PrestartEnd, migrate}, {"warm-up", MainStart, web}},
		},
		{
			"sidecar does not start",
			map[string]event.TaskState{"migrate": {State: "dead"}},
			[]wait{{"proxy", ItsStart, nil}, {"web", SidecarStart, proxy}, {"warm-up", MainStart, web}},
		},
		{
			"main does not start",
			map[string]event.TaskState{"migrate": {State: "dead"}, "proxy": {State: "running"}},
			[]wait{{"web", ItsStart, nil}, {"warm-up", MainStart, web}},
		},
		{
			"main restarts",
			map[string]event.TaskState{"migrate": {State: "dead"}, "proxy": {State: "running"}, "web": {State: "pending", Restarts: 1}},
			[]wait{{"web", ItsRestart, nil}, {"warm-up", MainStart, web}},
		},
		{"all run", map[string]event.TaskState{"migrate": {State: "dead"}, "proxy": {State: "running"}, "web": {State: "running"}, "warm-up": {State: "running"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := New([]*api.Job{job(
				task("migrate", "prestart", false), task("proxy", "prestart", true),
				task("web", "", false), task("warm-up", "poststart", false), task("clean-up", "poststop", false),
			)})
			for name, state := range c.states {
				r.Apply(event.Event{Time: time.Unix(1, 0), Alloc: first, Task: name, Body: state})
			}
			var got []wait
			for _, w := range waiting(r.Alloc(first)) {
				got = append(got, wait{w.Task.Name, w.For, w.Tasks})
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(wait{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Halted tasks wait for nothing, and tasks that wait for others name only those
// that have not done their part.
func TestWaitsForNothing(t *testing.T) {
	t.Parallel()
	r := New([]*api.Job{job(task("setup", "prestart", false), task("a", "", false), task("b", "", false), task("after", "poststart", false))})
	for name, state := range map[string]event.TaskState{
		"setup": {State: "dead"}, "a": {State: "running"}, "b": {State: "pending", Halted: true}, "after": {State: "pending"},
	} {
		r.Apply(event.Event{Alloc: first, Task: name, Body: state})
	}
	var got []string
	for _, w := range waiting(r.Alloc(first)) {
		got = append(got, fmt.Sprint(w.Task.Name, w.For, w.Tasks))
	}
	if want := []string{fmt.Sprint("b", ItsStart, []string(nil)), fmt.Sprint("after", MainStart, []string{"b"})}; !slices.Equal(got, want) {
		t.Errorf("waiting: %q, want %q", got, want)
	}
}
