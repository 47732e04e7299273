package fold

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// An event changes the lists and the objects that show what it says, and no
// others: queries about these wait on.
func TestTopicsOfEvents(t *testing.T) {
	t.Parallel()
	child := &event.Alloc{Job: "j", Parent: "p", ID: "a"}
	ofAlloc := []Topic{{Allocations, "a"}, {AllocationsOfJob, "j"}, {ScaleOfJob, "j"}}
	for name, c := range map[string]struct {
		alloc *event.Alloc
		body  event.Body
		want  []Topic
	}{
		"output":              {first, event.Output{}, nil},
		"a deployment":        {nil, event.Deployment{ID: "d", Job: "j"}, []Topic{{Deployments, "d"}, {DeploymentsOfJob, "j"}, {Jobs, "j"}, {ScaleOfJob, "j"}, {AllocationsOfJob, "j"}, {Allocations, ""}}},
		"a version":           {nil, event.Version{Job: "j"}, []Topic{{Jobs, "j"}, {ScaleOfJob, "j"}}},
		"a count":             {nil, event.Scaled{Job: "j"}, []Topic{{ScaleOfJob, "j"}}},
		"a notice":            {nil, event.Notice{Text: "x"}, nil},
		"a notice about one":  {nil, event.Notice{Text: "x", Job: "j"}, []Topic{{Jobs, "j"}, {ScaleOfJob, "j"}}},
		"an evaluation":       {nil, event.Evaluation{ID: "e", Job: "j", Trigger: event.JobRegister}, []Topic{{Evaluations, "e"}, {EvaluationsOfJob, "j"}}},
		"a stop":              {nil, event.Evaluation{ID: "e", Job: "j", Trigger: event.JobDeregister}, []Topic{{Evaluations, "e"}, {EvaluationsOfJob, "j"}, {Jobs, "j"}, {ScaleOfJob, "j"}}},
		"a variable":          {nil, event.Variable{VariableMetadata: &api.VariableMetadata{Namespace: "n", Path: "v"}}, []Topic{{Variables, "v n"}}},
		"a namespace":         {nil, event.Object{Table: event.Namespaces, Key: "n"}, []Topic{{Namespaces, "n"}}},
		"a node":              {nil, event.Object{Table: event.Nodes, Key: "n"}, []Topic{{Nodes, "n"}}},
		"a state of a task":   {child, event.TaskState{State: "running"}, ofAlloc},
		"a check":             {child, event.Check{Service: "s"}, ofAlloc},
		"another version":     {child, event.Moved{}, ofAlloc},
		"a service":           {child, event.Service{Name: "s"}, append(slices.Clone(ofAlloc), Topic{Services, "s"})},
		"health":              {child, event.AllocHealth{}, append(slices.Clone(ofAlloc), Topic{Deployments, ""}, Topic{DeploymentsOfJob, "j"})},
		"a status":            {child, event.AllocStatus{}, append(slices.Clone(ofAlloc), Topic{Deployments, ""}, Topic{DeploymentsOfJob, "j"}, Topic{Jobs, "j"}, Topic{ScaleOfJob, "j"}, Topic{Jobs, "p"}, Topic{ScaleOfJob, "p"})},
		"a replacement":       {&event.Alloc{Job: "j", ID: "a"}, event.AllocStatus{Replaces: "b"}, append(slices.Clone(ofAlloc), Topic{Deployments, ""}, Topic{DeploymentsOfJob, "j"}, Topic{Jobs, "j"}, Topic{ScaleOfJob, "j"}, Topic{Allocations, "b"})},
		"a forgotten alloc":   {child, event.Forgotten{Job: "j"}, ofAlloc},
		"a forgotten job":     {nil, event.Forgotten{Job: "j", Gone: true}, []Topic{{Jobs, "j"}, {ScaleOfJob, "j"}, {DeploymentsOfJob, "j"}, {Evaluations, ""}, {EvaluationsOfJob, "j"}, {AllocationsOfJob, "j"}}},
		"forgotten versions":  {nil, event.Forgotten{Job: "j", Versions: []uint64{1}}, []Topic{{Deployments, ""}}},
		"something forgotten": {nil, event.Forgotten{Job: "j", Evaluations: []string{"e"}}, []Topic{{Evaluations, "e"}, {EvaluationsOfJob, "j"}}},
	} {
		want, got := map[Topic]bool{}, map[Topic]bool{}
		for _, topic := range c.want {
			want[topic], want[Topic{topic.Table, ""}] = true, true
		}
		x := NewIndexes()
		x.Apply(event.Event{Seq: 7, Alloc: c.alloc, Body: c.body}, func(t Topic) { got[t] = true })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s changes (-want +got):\n%s", name, diff)
		}
		if x.Now != 8 {
			t.Errorf("%s: the index is %d", name, x.Now)
		}
		for topic := range want {
			if i := x.Of(topic); i != 8 {
				t.Errorf("%s: the index of %v is %d", name, topic, i)
			}
		}
	}
}

// The indexes of forgotten objects are dropped: a query about one of them gets the
// index of the latest, and does not wait.
func TestIndexOfForgottenObjects(t *testing.T) {
	t.Parallel()
	a := &event.Alloc{Job: "j", ID: "a"}
	ofJob := []Topic{{Jobs, "j"}, {ScaleOfJob, "j"}, {DeploymentsOfJob, "j"}, {EvaluationsOfJob, "j"}, {AllocationsOfJob, "j"}}
	variable := &api.VariableMetadata{Namespace: "default", Path: "v"}
	for name, c := range map[string]struct {
		alloc *event.Alloc
		body  event.Body
		gone  []Topic
	}{
		"a job":         {nil, event.Forgotten{Job: "j", Gone: true}, ofJob},
		"an allocation": {a, event.Forgotten{Job: "j"}, []Topic{{Allocations, "a"}}},
		"a variable":    {nil, event.Variable{VariableMetadata: variable, Deleted: true}, []Topic{{Variables, "v"}}},
		"a namespace":   {nil, event.Object{Table: event.Namespaces, Key: "n", Deleted: true}, []Topic{{Namespaces, "n"}}},
		"all of them":   {nil, event.Object{Table: event.Namespaces, Deleted: true}, nil},
	} {
		x := NewIndexes()
		for i, e := range []event.Event{
			{Alloc: a, Body: event.AllocStatus{}},
			{Body: event.Evaluation{ID: "e", Job: "j"}},
			{Body: event.Variable{VariableMetadata: variable}},
			{Body: event.Object{Table: event.Namespaces, Key: "n"}},
		} {
			e.Seq = uint64(i + 1)
			x.Apply(e, nil)
		}
		x.Apply(event.Event{Seq: 9, Alloc: c.alloc, Body: c.body}, nil)
		for _, topic := range c.gone {
			if _, kept := x.of[topic]; kept || x.Of(topic) != 10 {
				t.Errorf("%s: %v has index %d, kept: %t", name, topic, x.Of(topic), kept)
			}
		}
		if got, want := x.Of(Topic{Jobs, "unknown"}), uint64(10); len(c.gone) > 0 && got != want {
			t.Errorf("%s: an unknown job has index %d, want %d", name, got, want)
		} else if len(c.gone) == 0 && got != FirstIndex {
			t.Errorf("%s: an unknown job has index %d, as if something were forgotten", name, got)
		}
	}
}

// Risen indexes are those of lists and of unknown objects. An object that has one
// of its own keeps it.
func TestRise(t *testing.T) {
	t.Parallel()
	x := NewIndexes()
	x.Apply(event.Event{Seq: 4, Body: event.Evaluation{ID: "e", Job: "j"}}, nil)
	x.Rise(20)
	x.Rise(10)
	for topic, want := range map[Topic]uint64{
		{Evaluations, "e"}: 5, {Evaluations, ""}: 20, {EvaluationsOfJob, "j"}: 20, {Evaluations, "f"}: 20,
	} {
		if got := x.Of(topic); got != want {
			t.Errorf("%v has index %d, want %d", topic, got, want)
		}
	}
	if x.Now != 20 {
		t.Errorf("the index is %d", x.Now)
	}
	x.Apply(event.Event{Seq: 24, Body: event.Evaluation{ID: "g", Job: "j"}}, nil)
	if got := x.Of(Topic{EvaluationsOfJob, "j"}); got != 25 || x.Now != 25 {
		t.Errorf("a later event has index %d, now is %d", got, x.Now)
	}
}

// Forgotten objects are in no list, and no other object refers to them.
func TestForget(t *testing.T) {
	t.Parallel()
	alloc := func(id string) *event.Alloc { return &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: id} }
	placed := func(id, replaces string) event.Event {
		return event.Event{Alloc: alloc(id), Body: event.AllocStatus{Status: "failed", Replaces: replaces}}
	}
	deployment := func(job, id string, version uint64) event.Event {
		return event.Event{Body: event.Deployment{Job: job, ID: id, Version: version}}
	}
	r := New(
		nil, placed("1", ""), placed("2", "1"), placed("3", "2"),
		event.Event{Body: event.Version{Job: "j", Number: 0}}, event.Event{Body: event.Version{Job: "j", Number: 1}},
		deployment("j", "d0", 0), deployment("j", "d1", 1), deployment("k", "dk", 0),
		event.Event{Body: event.Evaluation{ID: "e", Job: "j"}}, event.Event{Body: event.Evaluation{ID: "f", Job: "j"}},
	)
	state := func() string {
		var parts []string
		for _, a := range r.Allocs {
			line := a.ID
			if a.Replaces != nil {
				line += " replaces " + a.Replaces.ID
			}
			if a.Replacement != nil {
				line += " replaced by " + a.Replacement.ID
			}
			parts = append(parts, line)
		}
		for _, d := range r.Deployments {
			parts = append(parts, d.ID)
		}
		for _, job := range []string{"j", "k"} {
			of := job + ":"
			for _, d := range r.DeploymentsOf(job) {
				of += " " + d.ID
			}
			parts = append(parts, of)
		}
		for _, e := range r.Evaluations {
			parts = append(parts, e.ID)
		}
		return strings.Join(parts, ", ")
	}
	for _, step := range []struct {
		e    event.Event
		want string
	}{
		{event.Event{Body: event.Notice{}}, "1 replaced by 2, 2 replaces 1 replaced by 3, 3 replaces 2, d0, d1, dk, j: d0 d1, k: dk, e, f"},
		{event.Event{Alloc: alloc("unknown"), Body: event.Forgotten{Job: "j"}}, "1 replaced by 2, 2 replaces 1 replaced by 3, 3 replaces 2, d0, d1, dk, j: d0 d1, k: dk, e, f"},
		{event.Event{Alloc: alloc("2"), Body: event.Forgotten{Job: "j"}}, "1, 3, d0, d1, dk, j: d0 d1, k: dk, e, f"},
		{event.Event{Body: event.Forgotten{Job: "j", Evaluations: []string{"f"}}}, "1, 3, d0, d1, dk, j: d0 d1, k: dk, e"},
		{event.Event{Body: event.Forgotten{Job: "j", Versions: []uint64{5}}}, "1, 3, d0, d1, dk, j: d0 d1, k: dk, e"},
		{event.Event{Body: event.Forgotten{Job: "j", Versions: []uint64{0}}}, "1, 3, d1, dk, j: d1, k: dk, e"},
		{event.Event{Body: event.Forgotten{Job: "j", Versions: []uint64{1}}}, "1, 3, dk, j:, k: dk, e"},
	} {
		r.Forget(step.e)
		if got := state(); got != step.want {
			t.Errorf("after %+v:\n%s, want\n%s", step.e.Body, got, step.want)
		}
	}
	if r.Find("2") != nil || r.Find("1") == nil || r.Version("j", 0) != nil || len(r.deployments) != 1 {
		t.Errorf("known: %v, %v, %v, deployments of %d jobs", r.Find("2"), r.Find("1"), r.Version("j", 0), len(r.deployments))
	}
}
