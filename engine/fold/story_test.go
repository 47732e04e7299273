package fold

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

var began = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// story returns n random events of a run. Failed allocations are replaced, so
// their number stays about the same.
func story(random *rand.Rand, n int) (events []event.Event) {
	type living struct {
		*event.Alloc
		tasks int
	}
	var allocs []living
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	add := func(a *event.Alloc, task string, body event.Body) {
		i := len(events)
		events = append(events, event.Event{
			Seq: uint64(i + 1), Time: began.Add(time.Duration(i) * time.Millisecond), Alloc: a, Task: task, Body: body,
		})
	}
	place := func(index int, replaces string) living {
		job := fmt.Sprint("job", index%3)
		a := living{&event.Alloc{Job: job, Group: "g", Name: fmt.Sprintf("%s.g[%d]", job, index), ID: fmt.Sprint("alloc", len(events))}, 1 + index%2}
		if index%3 == 2 {
			a.Parent = "job0"
		}
		evaluation := fmt.Sprint("eval", len(events))
		add(nil, "", event.Evaluation{ID: evaluation, Job: job, Parent: a.Parent, Trigger: event.AllocFailure})
		add(a.Alloc, "", event.AllocStatus{Status: "pending", Replaces: replaces, Retry: -1, Evaluation: evaluation})
		return a
	}
	for i := range 10 {
		allocs = append(allocs, place(i, ""))
	}
	for len(events) < n {
		i := random.IntN(len(allocs))
		a := allocs[i]
		task := fmt.Sprint("t", random.IntN(a.tasks))
		switch random.IntN(12) {
		case 0:
			add(nil, "", event.Deployment{ID: pick("d1", "d2", "d3"), Job: a.Job, Version: uint64(random.IntN(3)), Status: pick("running", "failed", "successful"), Canarying: random.IntN(2) == 0})
		case 1:
			add(nil, "", event.Version{Job: a.Job, Parent: a.Parent, Number: uint64(random.IntN(9)), Stable: random.IntN(2) == 0, Tag: pick("", "good")})
		case 2:
			add(nil, "", event.Evaluation{ID: fmt.Sprint("eval", len(events)), Job: a.Job, Parent: a.Parent, Trigger: event.JobRegister, Version: uint64(random.IntN(9)), Deployment: pick("", "d1")})
		case 3:
			add(a.Alloc, task, event.Service{ID: pick("s1", "s2"), Name: "web", Address: "127.0.0.1", Port: 80, Registered: random.IntN(2) == 0})
		case 4:
			add(a.Alloc, task, event.Check{Service: "web", Check: pick("c1", "c2"), Status: pick("success", "failure")})
		case 5:
			add(a.Alloc, "", event.AllocHealth{Healthy: random.IntN(2) == 0})
		case 6:
			add(a.Alloc, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: time.Second})
			allocs[i] = place(i, a.ID)
		case 7:
			at := began.Add(time.Duration(len(events)) * time.Millisecond)
			add(a.Alloc, task, event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Terminated", Time: at.UnixNano(), DisplayMessage: "Exit Code: 3", Details: map[string]string{"exit_code": pick("0", "3")}}})
		default:
			add(a.Alloc, task, event.TaskState{State: pick("pending", "running", "dead"), Failed: random.IntN(9) == 0, Restarts: uint64(random.IntN(4))})
		}
	}
	return events
}

// Equal events make equal states, however they are split; and the events on
// disk make the same state as those of the bus, except for indexes, which are
// not stored.
func TestStateFollowsEvents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		events := story(random, 2000)
		whole := New(nil, events...)
		cut := random.IntN(len(events))
		parts := New(nil, events[:cut]...)
		for _, e := range events[cut:] {
			parts.Apply(e)
		}
		if !reflect.DeepEqual(whole, New(nil, events...)) || !reflect.DeepEqual(whole, parts) {
			t.Fatalf("seed %d, cut at %d: the states differ", seed, cut)
		}
		if len(whole.Evaluations) == 0 || len(whole.Deployments) == 0 || len(whole.Allocs) < 20 || whole.Version("job1", 3) == nil {
			t.Fatalf("seed %d: nothing happened", seed)
		}
		for i := range events {
			events[i].Seq = 0
		}
		kept := New(nil)
		for _, e := range events {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			read, err := event.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			kept.Apply(read)
		}
		if !reflect.DeepEqual(New(nil, events...), kept) {
			t.Fatalf("seed %d: what was read makes another state", seed)
		}
	}
}

// A state that forgets all ended allocations does not grow, and neither do its
// indexes.
func TestForgetting(t *testing.T) {
	t.Parallel()
	run, indexes := New(nil), NewIndexes()
	changed := map[Topic]bool{}
	for _, e := range story(rand.New(rand.NewPCG(1, 1)), 50_000) {
		run.Apply(e)
		indexes.Apply(e, nil)
		if s, ok := e.Body.(event.AllocStatus); ok && s.Replaces != "" {
			old := run.Find(s.Replaces)
			var gone event.Forgotten
			for _, v := range run.Evaluations[:len(run.Evaluations)-1] {
				gone.Evaluations = append(gone.Evaluations, v.ID)
			}
			forgotten := event.Event{Seq: e.Seq, Alloc: old.Alloc, Body: gone}
			run.Forget(forgotten)
			indexes.Apply(forgotten, func(t Topic) { changed[t] = true })
			if topic := (Topic{Allocations, old.ID}); !changed[topic] || indexes.Of(topic) != Index(e) {
				t.Fatalf("the index of %s is %d, want %d", old.ID, indexes.Of(topic), Index(e))
			}
		}
	}
	if n := len(run.Allocs); n != 10 {
		t.Errorf("%d allocations are known, want 10", n)
	}
	if n := len(indexes.of); n > 500 {
		t.Errorf("%d indexes are known", n)
	}
	run.Forget(event.Event{Body: event.Forgotten{Job: "job1", Versions: []uint64{0, 1, 2}}})
	if run.Version("job1", 1) != nil || run.Version("job2", 1) == nil || slices.ContainsFunc(run.Deployments, func(d *Deployment) bool { return d.Job == "job1" }) {
		t.Error("versions of job1 are known, or none of others")
	}
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		events := story(rand.New(rand.NewPCG(1, 1)), n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				New(nil, events...)
			}
		})
		b.Run(fmt.Sprint(n, "/indexes"), func(b *testing.B) {
			for b.Loop() {
				x := NewIndexes()
				for _, e := range events {
					x.Apply(e, nil)
				}
			}
		})
	}
}
