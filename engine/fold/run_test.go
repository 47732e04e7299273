package fold

import (
	"slices"
	"testing"
	"time"

	"taskrun/engine/event"
)

// A canary that failed does not count when what it stood beside goes on, nor
// does what was stopped for a canary.
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
