package play

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/rehearse"
	"taskrun/drivers"
	"taskrun/drivers/rehearsal"
	"taskrun/engine/leaf/event"
)

// cast decides how the mock of each task behaves.
type cast struct {
	job     *api.Job
	roles   []role // the most exact first, of equal ones the last of the test
	alloc   func(id string) *event.Alloc
	drivers map[string]drivers.Driver

	mu     sync.Mutex
	starts map[string]int // of tasks, by the names of allocation and task
}

// role is a task block, and what it is for.
type role struct {
	target
	*jobtest.Task
}

// newCast returns the mocks of a run, which take the roles of drivers. Alloc returns
// an allocation by its ID.
func newCast(job *Prepared, known map[string]drivers.Driver, alloc func(id string) *event.Alloc) *cast {
	c := &cast{job: job.Job, alloc: alloc, starts: map[string]int{}}
	versions := job.versions()
	for _, t := range slices.Backward(job.run.Tasks) {
		for _, j := range versions {
			if at, ok := parseTarget(t.Target, j); ok {
				c.roles = append(c.roles, role{at, t})
				break
			}
		}
	}
	slices.SortStableFunc(c.roles, func(a, b role) int { return cmp.Compare(b.exactness(), a.exactness()) })
	c.drivers = rehearse.Mocks(known, c.script)
	for _, j := range versions {
		rehearse.Admit(c.drivers, j, c.script)
	}
	return c
}

// script returns what a task does that starts now. Attempts count for a task of an
// allocation and of those that run in its place.
func (c *cast) script(cfg *drivers.TaskConfig) rehearsal.Script {
	a := c.alloc(cfg.AllocID)
	c.mu.Lock()
	key := a.Name + "/" + cfg.Name
	c.starts[key]++
	attempt := c.starts[key]
	c.mu.Unlock()
	for _, r := range c.roles {
		if r.task == cfg.Name && r.matches(a) {
			return scriptOf(r.Task, attempt)
		}
	}
	return rehearsal.Script{RunFor: c.runFor(cfg)}
}

// runFor is how long a task runs about which the test says nothing: main tasks of
// services and sidecars until they are stopped, the others not at all.
func (c *cast) runFor(cfg *drivers.TaskConfig) time.Duration {
	batch := *c.job.Type == api.JobTypeBatch || *c.job.Type == api.JobTypeSysbatch
	g := c.job.LookupTaskGroup(cfg.GroupName)
	if g == nil {
		return rehearsal.Forever
	}
	t := taskOf(g, cfg.Name)
	switch {
	case t == nil, t.Lifecycle != nil && t.Lifecycle.Sidecar:
		return rehearsal.Forever
	case t.Lifecycle != nil, batch:
		return 0
	}
	return rehearsal.Forever
}

// scriptOf returns what a task block says of an attempt.
func scriptOf(t *jobtest.Task, attempt int) rehearsal.Script {
	script, latest := t.Script, 1
	for n, s := range t.Attempts {
		if n <= attempt && n > latest {
			script, latest = s, n
		}
	}
	var made rehearsal.Script
	if script == cty.NilVal || script.IsNull() {
		return made
	}
	if v, ok := attribute(script, "run_for"); ok {
		made.RunFor, _ = time.ParseDuration(v.AsString())
	}
	if v, ok := attribute(script, "exit_code"); ok {
		n, _ := v.AsBigFloat().Int64()
		made.ExitCode = int(n)
	}
	return made
}

func attribute(object cty.Value, name string) (v cty.Value, ok bool) {
	if !object.Type().HasAttribute(name) {
		return v, false
	}
	v = object.GetAttr(name)
	return v, !v.IsNull()
}
