package fold

import (
	"slices"
	"testing"
	"time"

	"taskrun/engine/leaf/event"
)

// A canary that failed does not count if the allocation next to it continues, nor
// does one that was stopped for a canary.
func TestFinalOfCanaries(t *testing.T) {
	t.Parallel()
	m := New(nil)
	tell := func(id, status, replaces string) {
		m.Apply(event.Event{
			Time: time.Unix(1, 0), Alloc: &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: id},
			Body: event.AllocStatus{Status: status, Replaces: replaces, Retry: -1},
		})
	}
	check := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, a := range m.Final() {
			got = append(got, a.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	tell("first", "running", "")
	check("alone", "first")
	tell("bad canary", "running", "")
	check("beside each other", "first", "bad canary")
	tell("bad canary", "failed", "")
	check("a canary failed", "first")
	tell("canary", "running", "bad canary")
	tell("first", "complete", "")
	check("it was promoted", "canary")
	tell("canary", "complete", "")
	check("at the end", "canary")
}

// The earliest failure of an allocation without a replacement counts.
func TestFirstFailure(t *testing.T) {
	t.Parallel()
	m := New(nil)
	at := time.Unix(1, 0)
	fail := func(a *event.Alloc, task string) {
		at = at.Add(time.Second)
		m.Apply(event.Event{Time: at, Alloc: a, Task: task, Body: event.TaskState{State: "dead", Failed: true}})
	}
	status := func(a *event.Alloc, status, replaces string) {
		m.Apply(event.Event{Time: at, Alloc: a, Body: event.AllocStatus{Status: status, Replaces: replaces, Retry: -1}})
	}
	check := func(when, want string) {
		t.Helper()
		got := ""
		if f := m.FirstFailure(); f != nil {
			got = f.Task.Alloc.Name + " " + f.Task.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	a, b, c := &event.Alloc{Name: "a", ID: "1"}, &event.Alloc{Name: "b", ID: "2"}, &event.Alloc{Name: "b", ID: "3"}
	check("at first", "")
	status(b, "running", "")
	fail(b, "y")
	check("while it runs", "")
	status(a, "running", "")
	fail(a, "x")
	fail(a, "z")
	status(a, "failed", "")
	check("when one has failed", "a x")
	status(b, "failed", "")
	check("when an earlier one has", "b y")
	status(c, "running", b.ID)
	check("when that was replaced", "a x")
	fail(c, "y")
	status(c, "failed", b.ID)
	check("when that failed as well", "b y")
	if n := m.byID[c.ID].Replacements(); n != 1 || m.byID[b.ID].Last() != m.byID[c.ID] {
		t.Errorf("%d replacements", n)
	}
}

// Errors in the files of a run last until they are fixed: other notices do not end them.
func TestUnfixed(t *testing.T) {
	t.Parallel()
	m := New(nil, event.Event{Body: event.Notice{Text: "first", Unfixed: "2 errors"}})
	for _, step := range []struct {
		body event.Notice
		want string
	}{
		{event.Notice{Text: "something else"}, "first"},
		{event.Notice{Text: "second", Unfixed: "1 error"}, "second"},
		{event.Notice{Text: "all is well", Fixed: true}, ""},
	} {
		m.Apply(event.Event{Body: step.body})
		if m.Unfixed.Text != step.want {
			t.Errorf("after %q: %q, want %q", step.body.Text, m.Unfixed.Text, step.want)
		}
	}
}
