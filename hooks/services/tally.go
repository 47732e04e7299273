package services

import (
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/check"
)

// tally counts which checks of an allocation pass, those of its tasks
// included.
type tally struct {
	tell func(pass bool) // whenever all pass, or no longer do

	mu      sync.Mutex
	total   int
	passing map[checkKey]bool
}

// checkKey tells a check of an allocation from the others.
type checkKey struct {
	task           string // "" for the group's
	service, check int
}

// expect sets how many checks there are: all that the group has.
func (t *tally) expect(g *api.TaskGroup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all()
	t.total = 0
	add := func(services []*api.Service) {
		for _, s := range services {
			t.total += len(s.Checks)
		}
	}
	add(g.Services)
	for _, task := range g.Tasks {
		add(task.Services)
	}
	t.tellIfNot(all)
}

// count takes in what a check says.
func (t *tally) count(key checkKey, c *check.Check, r check.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all()
	if acceptable(c, r) {
		t.passing[key] = true
	} else {
		delete(t.passing, key)
	}
	t.tellIfNot(all)
}

func (t *tally) all() bool { return len(t.passing) >= t.total }

func (t *tally) tellIfNot(before bool) {
	if all := t.all(); all != before {
		t.tell(all)
	}
}

// acceptable reports whether an allocation may be healthy with a result. Of a
// check that is about readiness any will do, once there is one.
func acceptable(c *check.Check, r check.Result) bool {
	switch {
	case r.Status == check.Success:
		return true
	case c.OnUpdate == api.OnUpdateIgnoreWarn && r.Warning:
		return true
	default:
		return c.Mode() == check.Readiness && r.Status != check.Pending
	}
}
