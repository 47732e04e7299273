package event

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

var moment = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func allocOf(job, group string, index int, id string) *Alloc {
	return &Alloc{Job: job, Group: group, Name: fmt.Sprintf("%s.%s[%d]", job, group, index), ID: id}
}

// history are the events of one thing, in the order in which they happened.
func history(at time.Time, a *Alloc, task string, bodies ...Body) (list []Event) {
	for _, b := range bodies {
		list = append(list, Event{Time: at, Alloc: a, Task: task, Body: b})
	}
	return list
}

func taskEvent(kind string) TaskEvent { return TaskEvent{&api.TaskEvent{Type: kind}} }

func describe(events []Event) (lines []string) {
	for _, e := range events {
		line := fmt.Sprintf("%d %v ", e.Seq, e.Time.Sub(moment))
		if e.Alloc != nil {
			line += e.Alloc.ID + " "
		}
		switch b := e.Body.(type) {
		case TaskEvent:
			line += e.Task + " " + b.Type
		case TaskState:
			line += e.Task + " is " + b.State
		case AllocStatus:
			line += b.Status
		case Deployment:
			line += b.ID + " " + b.Status
		case Version:
			line += fmt.Sprint("version ", b.Number)
		case Evaluation:
			line += "evaluation " + b.Alloc
		case Check:
			line += b.Check + " " + b.Status
		case Service:
			line += fmt.Sprint(b.ID, " ", b.Registered)
		case Notice:
			line += b.Text
		default:
			line += fmt.Sprintf("%v", b)
		}
		lines = append(lines, line)
	}
	return lines
}

// canonicalCase is a moment in which much happens, as histories that may be
// interleaved in any way, and the next one.
func canonicalCase() [][]Event {
	a0, a1, b0 := allocOf("job", "a", 2, "z"), allocOf("job", "a", 10, "a"), allocOf("job", "b", 0, "m")
	a1b := allocOf("job", "a", 10, "0")
	next := moment.Add(1)
	return [][]Event{
		history(moment, nil, "", Version{Job: "job"}, Deployment{Job: "job", ID: "d0", Status: "running"}, Evaluation{Job: "job"}),
		history(moment, a1, "", AllocStatus{Status: "pending"}, AllocStatus{Status: "running"}, AllocStatus{Status: "failed"}),
		history(moment, a1, "t", taskEvent("Received"), taskEvent("Started"), TaskState{State: "running"}, taskEvent("Terminated"), TaskState{State: "dead"}),
		history(moment, a1, "s", taskEvent("Received")),
		history(moment, a1, "t", Service{ID: "2", Registered: true}, Service{ID: "2"}),
		history(moment, a1, "t", Service{ID: "1", Registered: true}),
		history(moment, a1, "", Check{Check: "y", Status: "failure"}, Check{Check: "y", Status: "success"}),
		history(moment, a1, "", Check{Check: "x", Status: "failure"}),
		history(moment, a1, "", AllocHealth{}),
		history(moment, nil, "", Evaluation{Job: "job", Alloc: "a"}),
		history(moment, a1b, "", AllocStatus{Status: "pending", Replaces: "a"}, AllocStatus{Status: "running"}),
		history(moment, a1b, "t", taskEvent("Received")),
		history(moment, a0, "", AllocStatus{Status: "pending"}),
		history(moment, b0, "", AllocStatus{Status: "pending"}),
		history(moment, allocOf("another", "z", 0, "another"), "", AllocStatus{Status: "pending"}),
		history(moment, nil, "", Notice{Text: "second"}),
		history(moment, nil, "", Notice{Text: "first"}),
		history(next, nil, "", Deployment{Job: "job", ID: "d0", Status: "successful"}),
		history(next, a0, "t", taskEvent("Received"), taskEvent("Started")),
	}
}

// interleave returns the events of histories in one of their possible orders.
func interleave(r *rand.Rand, histories [][]Event) (all []Event) {
	left := slices.Clone(histories)
	for len(left) > 0 {
		i := r.IntN(len(left))
		e := left[i][0]
		e.Seq = uint64(len(all)) + 5
		all = append(all, e)
		if left[i] = left[i][1:]; len(left[i]) == 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return all
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	want := strings.Split(`1 0s first
2 0s second
3 0s another pending
4 0s version 0
5 0s d0 running
6 0s evaluation 
7 0s z pending
8 0s a pending
9 0s a x failure
10 0s a y failure
11 0s a y success
12 0s a s Received
13 0s a t Received
14 0s a t Started
15 0s a t is running
16 0s a t Terminated
17 0s a t is dead
18 0s a 1 true
19 0s a 2 true
20 0s a 2 false
21 0s a {false}
22 0s a failed
23 0s evaluation a
24 0s 0 pending
25 0s 0 t Received
26 0s 0 running
27 0s m pending
28 1ns z t Received
29 1ns z t Started
30 1ns d0 successful`, "\n")
	for seed := range uint64(200) {
		events := interleave(rand.New(rand.NewPCG(seed, 0)), canonicalCase())
		before := slices.Clone(events)
		if diff := cmp.Diff(want, describe(Canonical(events))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(describe(before), describe(events)); diff != "" {
			t.Fatal("the given events have changed")
		}
	}
	if len(Canonical(nil)) != 0 {
		t.Error("there are events out of nothing")
	}
}

// A deployment that ends because of its allocations comes after them, unless the
// next version of the job follows from its end.
func TestCanonicalDeployments(t *testing.T) {
	t.Parallel()
	a := allocOf("job", "a", 0, "a")
	begin := history(moment, nil, "", Deployment{Job: "job", ID: "d0", Status: "running"})
	next := moment.Add(time.Second)
	fails := history(next, nil, "", Deployment{Job: "job", ID: "d0", Status: "failed"})
	reverts := append(slices.Clone(fails), history(next, nil, "", Version{Job: "job", Number: 1}, Deployment{Job: "job", ID: "d1", Status: "running"})...)
	for name, c := range map[string]struct {
		job  []Event
		want []string
	}{
		"the end":      {fails, []string{"1 0s d0 running", "2 1s a {false}", "3 1s d0 failed"}},
		"another":      {reverts, []string{"1 0s d0 running", "2 1s d0 failed", "3 1s version 1", "4 1s d1 running", "5 1s a {false}"}},
		"begin to end": {append(slices.Clone(begin), history(moment, nil, "", Deployment{Job: "job", ID: "d0", Status: "successful"})...)[1:], []string{"1 0s d0 running", "2 0s d0 successful", "3 1s a {false}"}},
	} {
		events := append(append(slices.Clone(begin), c.job...), history(next, a, "", AllocHealth{})...)
		if diff := cmp.Diff(c.want, describe(Canonical(events))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Output, downloads and variables have histories of their own, and the event that
// forgets a job is its last.
func TestCanonicalOfOtherEvents(t *testing.T) {
	t.Parallel()
	a := allocOf("job", "a", 0, "a")
	variable := func(path string) Variable {
		return Variable{VariableMetadata: &api.VariableMetadata{Namespace: "default", Path: path}}
	}
	want := []Body{
		variable("x"), variable("y"),
		Scaled{Job: "job"},
		AllocStatus{Status: "pending"},
		Output{Stream: Stderr},
		Output{Stream: Stdout},
		Gap{Stream: Stdout},
		Progress{What: "b"},
		Progress{What: "c"},
		AllocHealth{},
		Forgotten{},
		Scaled{Job: "k"},
		Forgotten{Job: "k"},
	}
	for seed := range uint64(50) {
		events := interleave(rand.New(rand.NewPCG(seed, 0)), [][]Event{
			history(moment, nil, "", Forgotten{Job: "k"}), history(moment, nil, "", Scaled{Job: "k"}),
			history(moment, nil, "", Scaled{Job: "job"}), history(moment, nil, "", variable("y")), history(moment, nil, "", variable("x")),
			history(moment, a, "", AllocStatus{Status: "pending"}), history(moment, a, "", AllocHealth{}), history(moment, a, "", Forgotten{}),
			history(moment, a, "t", Output{Stream: Stderr}), history(moment, a, "t", Output{Stream: Stdout}, Gap{Stream: Stdout}),
			history(moment, a, "t", Progress{What: "c"}), history(moment, a, "t", Progress{What: "b"}),
		})
		var got []Body
		for _, e := range Canonical(events) {
			got = append(got, e.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// Replacements that name each other are sorted all the same.
func TestCanonicalCycle(t *testing.T) {
	t.Parallel()
	a, b := allocOf("job", "a", 0, "a"), allocOf("job", "a", 0, "b")
	events := append(history(moment, b, "", AllocStatus{Status: "pending", Replaces: "a"}), history(moment, a, "", AllocStatus{Status: "pending", Replaces: "b"})...)
	if diff := cmp.Diff([]string{"1 0s a pending", "2 0s b pending"}, describe(Canonical(events))); diff != "" {
		t.Error(diff)
	}
}
