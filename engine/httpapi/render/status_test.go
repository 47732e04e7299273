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
	e := engine.New(engine.Config{DataDir: t.TempDir()})
	run := &Run{Engine: e, Tracker: tracker.New(e, "node")}
	for name, c := range map[string]struct {
		alloc   engine.Alloc
		count   int
		stopped bool
		want    string
	}{
		"it ended by itself":               {engine.Alloc{}, 1, false, "dead"},
		"an update replaces it":            {engine.Alloc{Unwanted: "updated"}, 1, false, "running"},
		"an update leaves no allocation":   {engine.Alloc{Unwanted: "updated"}, 0, false, "dead"},
		"the job was stopped":              {engine.Alloc{Unwanted: "stopped"}, 1, true, "dead"},
		"a user stopped it for good":       {engine.Alloc{Unwanted: "migrated", Final: true}, 1, false, "dead"},
		"a user stopped it to be replaced": {engine.Alloc{Unwanted: "migrated"}, 1, false, "running"},
	} {
		job := &api.Job{TaskGroups: []*api.TaskGroup{{Name: new("g"), Count: new(c.count)}}}
		c.alloc.Alloc = event.Alloc{Job: "job", Group: "g", ID: "1"}
		c.alloc.Status = api.AllocClientStatusComplete
		now := &Snapshot{run: run, allocs: map[string][]engine.Alloc{"job": {c.alloc}}}
		if got := now.jobStatus("job", job, c.stopped, false); got != c.want {
			t.Errorf("%s: the job is %s, want %s", name, got, c.want)
		}
	}
	for _, c := range []struct {
		count          int
		stopped, ended bool
		want           string
	}{
		{1, false, false, "pending"},
		{1, true, false, "dead"},
		{0, false, false, "dead"},
		{1, false, true, "dead"},
	} {
		job := &api.Job{TaskGroups: []*api.TaskGroup{{Name: new("g"), Count: &c.count}}}
		if got := (&Snapshot{run: run}).jobStatus("job", job, c.stopped, c.ended); got != c.want {
			t.Errorf("%+v, before the first allocation: the job is %s", c, got)
		}
	}
}
