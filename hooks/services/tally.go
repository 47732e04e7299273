package services

import (
	"maps"
	"reflect"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/services/check"
)

// tally counts which checks of an allocation pass, those of its tasks
// included.
type tally struct {
	tell func(pass bool) // whenever all pass, or no longer do

	mu       sync.Mutex
	services map[string][]*api.Service // by task, "" for the group's
	total    int                       // of their checks
	passing  map[checkKey]bool
}

// checkKey tells a check of an allocation from the others.
type checkKey struct {
	task           string // "" for the group's
	service, check int
}

// expect sets which checks there are: all that the group has. Those of services
// that have changed have yet to pass.
func (t *tally) expect(g *api.TaskGroup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all()
	now := map[string][]*api.Service{"": g.Services}
	for _, task := range g.Tasks {
		now[task.Name] = task.Services
	}
	maps.DeleteFunc(t.passing, func(key checkKey, _ bool) bool {
		return !reflect.DeepEqual(t.services[key.task], now[key.task])
	})
	t.services, t.total = now, 0
	for _, services := range now {
		for _, s := range services {
			t.total += len(s.Checks)
		}
	}
	t.tellIfNot(all)
}

// count records the status of a check.
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
