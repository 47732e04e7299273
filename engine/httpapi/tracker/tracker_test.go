package tracker

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// track returns a tracker of an engine without jobs.
func track(t *testing.T, resident bool, node string) *Tracker {
	t.Helper()
	tracker := New(engine.New(engine.Config{DataDir: t.TempDir(), Resident: resident}), node)
	t.Cleanup(tracker.Close)
	return tracker
}

// Objects that the engine does not know exist since the first index.
func TestUnknownObjects(t *testing.T) {
	t.Parallel()
	tr := track(t, false, "node")
	if diff := cmp.Diff(Alloc{Created: fold.FirstIndex, Modified: fold.FirstIndex}, tr.Alloc("none")); diff != "" {
		t.Errorf("an allocation (-want +got):\n%s", diff)
	}
	if created, modified, changed := tr.Deployment("job", "none"); created != fold.FirstIndex || modified != fold.FirstIndex || !changed.Equal(time.Time{}) {
		t.Errorf("a deployment: %d, %d, %v", created, modified, changed)
	}
	if index, evaluation := tr.Version("job", 3); index != fold.FirstIndex || evaluation != "" {
		t.Errorf("a version: %d, %q", index, evaluation)
	}
	if id, index := tr.Evaluated("job", "", event.JobRegister); id != "" || index != 0 {
		t.Errorf("an evaluation: %q, %d", id, index)
	}
	if job := tr.JobOf("none"); job != "" || len(tr.Evaluations()) != 0 {
		t.Errorf("the job of a deployment: %q", job)
	}
}

// The ID of a policy is the same each time: that of its target and, in a
// resident engine, of the node.
func TestPolicyID(t *testing.T) {
	t.Parallel()
	id := func(resident bool, node string, target ...string) string {
		return track(t, resident, node).PolicyID(target...)
	}
	first := id(true, "a", "Group", "g")
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("ID %s", first)
	}
	if again := id(true, "a", "Group", "g"); again != first {
		t.Errorf("it is %s and %s", first, again)
	}
	for what, other := range map[string]string{"node": id(true, "b", "Group", "g"), "target": id(true, "a", "Group", "h"), "length": id(true, "a", "Group"), "run": id(false, "a", "Group", "g")} {
		if other == first {
			t.Errorf("another %s has the same policy", what)
		}
	}
	if one, two := id(false, "a", "Group", "g"), id(false, "b", "Group", "g"); one != two {
		t.Errorf("a run has policies of the node: %s, %s", one, two)
	}
}

// When the tracker ends, so do the readers of its events.
func TestClose(t *testing.T) {
	t.Parallel()
	tr := New(engine.New(engine.Config{DataDir: t.TempDir()}), "node")
	first := tr.Feed.From(0).Next()
	if o := first.Events[0]; first.Index != fold.FirstIndex || o.Topic != "Node" || o.Kind != "NodeRegistration" || o.Key != "node" {
		t.Errorf("the first event is %+v at %d", o, first.Index)
	}
	tr.Close()
	select {
	case <-first.More():
	default:
		t.Fatal("the events go on")
	}
	if next := first.Next(); next != nil {
		t.Errorf("the next event is %+v", next)
	}
}
