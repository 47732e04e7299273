package cluster

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A deployment is published when its state changes, with a message about a
// running one; deployments of earlier versions are ignored.
func TestDeploymentMessages(t *testing.T) {
	t.Parallel()
	f := newFollowed(Job{Job: &api.Job{ID: new("web"), Version: new(uint64(3))}}, "")
	for _, step := range []struct {
		version             uint64
		status, description string
		state               string // published state
		word                string
	}{
		{2, "successful", "done", "", ""},
		{3, "running", "Deployment is running", "running", ""},
		{3, "running", "Deployment is running", "", ""},
		{3, "running", "Deployment requires manual promotion", "", "job web: Deployment requires manual promotion"},
		{3, "successful", "done", "successful", ""},
	} {
		f.now.deployment = &api.Deployment{ID: "d", JobVersion: step.version, Status: step.status, StatusDescription: step.description}
		state, word := f.deployed()
		got := ""
		if state != nil {
			got = state.Status
		}
		if got != step.state || word != step.word {
			t.Errorf("%+v: told %q and %q", step, got, word)
		}
	}
}

// A job is over when it is dead, its registration was evaluated, and all events
// of its allocations were published.
func TestWhenAJobIsOver(t *testing.T) {
	t.Parallel()
	alloc := func(id, status string) *api.AllocationListStub {
		return &api.AllocationListStub{ID: id, ClientStatus: status}
	}
	for _, c := range []struct {
		name   string
		status string
		eval   string // its state; empty: unknown
		allocs []*api.AllocationListStub
		told   string // published status of allocation 1
		want   bool
	}{
		{"it runs", "running", "complete", nil, "", false},
		{"it is not evaluated yet", "dead", "", nil, "", false},
		{"it is being evaluated", "dead", "pending", nil, "", false},
		{"nothing was placed", "dead", "complete", nil, "", true},
		{"its end was told", "dead", "complete", []*api.AllocationListStub{alloc("1", "failed")}, "failed", true},
		{"its end was not told", "dead", "complete", []*api.AllocationListStub{alloc("1", "failed")}, "running", false},
		{"an earlier one", "dead", "complete", []*api.AllocationListStub{alloc("0", "failed")}, "", true},
		{"it was purged", gone, "", []*api.AllocationListStub{alloc("1", "complete")}, "complete", true},
		{"it was purged, and still runs", gone, "", []*api.AllocationListStub{alloc("1", "running")}, "running", false},
	} {
		f := newFollowed(Job{Job: &api.Job{ID: new("web")}, EvalID: "e", Over: map[string]bool{"0": true}}, "")
		f.now.status, f.now.allocs = c.status, c.allocs
		if c.eval != "" {
			f.now.evals = []*api.Evaluation{{ID: "e", Status: c.eval}}
		}
		if c.told != "" {
			f.known["1"] = newAllocation(c.allocs[0], "", "")
			f.known["1"].status.Status = c.told
		}
		if got := f.over(); got != c.want {
			t.Errorf("%s: over %v", c.name, got)
		}
	}
}
