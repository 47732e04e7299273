package render

import (
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/tracker"
	"taskrun/engine/leaf/event"
)

// The status of a job whose allocation has ended changes with the events of the
// allocation: nothing tells clients when the engine is done with the job.
func TestStatusAfterTheLastAllocation(t *testing.T) {
	t.Parallel()
	job := &api.Job{TaskGroups: []*api.TaskGroup{{Name: new("g"), Count: new(1)}}}
	e := engine.New(engine.Config{DataDir: t.TempDir()})
	run := &Run{Engine: e, Tracker: tracker.New(e, "node")}
	for name, c := range map[string]struct {
		alloc engine.Alloc
		want  string
	}{
		"it ended by itself":               {engine.Alloc{}, "dead"},
		"an update replaces it":            {engine.Alloc{Unwanted: "updated"}, "running"},
		"a user stopped it for good":       {engine.Alloc{Unwanted: "migrated", Final: true}, "dead"},
		"a user stopped it to be replaced": {engine.Alloc{Unwanted: "migrated"}, "running"},
	} {
		c.alloc.Alloc = event.Alloc{Job: "job", Group: "g", ID: "1"}
		c.alloc.Status = api.AllocClientStatusComplete
		now := &Snapshot{run: run, allocs: map[string][]engine.Alloc{"job": {c.alloc}}}
		if got := now.jobStatus("job", job, false, false); got != c.want {
			t.Errorf("%s: the job is %s, want %s", name, got, c.want)
		}
	}
}
