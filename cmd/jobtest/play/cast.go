package play

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/rehearse"
	"taskrun/drivers"
	"taskrun/drivers/rehearsal"
	"taskrun/engine/leaf/event"
)

const mockDriver = "mock_driver"

// cast decides how the mock of each task behaves.
type cast struct {
	versions []*api.Job
	batch    bool
	roles    []role // the most exact first, of equal ones the last of the test
	alloc    func(id string) *event.Alloc
	drivers  map[string]drivers.Driver

	mu     sync.Mutex
	starts map[string]int // of tasks, by the names of allocation and task
}

// role is a task block with its target.
type role struct {
	jobtest.Target
	*jobtest.Task
}

// exactness orders roles: a target that names more counts before others.
func (r role) exactness() (n int) {
	if strings.Contains(r.Task.Target, "/") { // a group
		n++
	}
	if r.Indexed {
		n++
	}
	return n
}

// newCast returns the mocks of a run, which take the roles of drivers. Alloc returns
// an allocation by its ID.
func newCast(job *Prepared, known map[string]drivers.Driver, alloc func(id string) *event.Alloc) *cast {
	versions := job.All()
	c := &cast{versions: versions, alloc: alloc, starts: map[string]int{}}
	c.batch = *job.Job.Type == api.JobTypeBatch || *job.Job.Type == api.JobTypeSysbatch
	names := jobtest.NamesOf(versions...)
	for _, t := range slices.Backward(job.Run.Tasks) {
		if at, err := names.Parse(t.Target); err == nil {
			c.roles = append(c.roles, role{at, t})
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
	script := c.untold(cfg)
	for _, r := range c.roles {
		if r.Target.Task == cfg.Name && r.Matches(a.Group, a.Index()) {
			script.Options = r.options(attempt, script.Options)
			break
		}
	}
	script.Lag = rehearsal.LagOf(cfg, c.versions...)
	return script
}

// untold returns the script of a task without a block in the test: mock_driver has
// its config, main tasks of services and sidecars run until they are stopped, and
// the others end at once.
func (c *cast) untold(cfg *drivers.TaskConfig) rehearsal.Script {
	t := c.task(cfg)
	switch {
	case t != nil && t.Driver == mockDriver:
		return rehearsal.Script{}
	case t == nil, t.Lifecycle == nil && !c.batch, t.Lifecycle != nil && t.Lifecycle.Sidecar:
		return rehearsal.For(rehearsal.Forever, 0)
	}
	return rehearsal.For(0, 0)
}

// task returns the task that starts, in the first version of the job that has it.
func (c *cast) task(cfg *drivers.TaskConfig) *api.Task {
	for _, j := range c.versions {
		if g := j.LookupTaskGroup(cfg.GroupName); g != nil {
			if i := slices.IndexFunc(g.Tasks, func(t *api.Task) bool { return t.Name == cfg.Name }); i >= 0 {
				return g.Tasks[i]
			}
		}
	}
	return nil
}

// ends are the options that say how or when a task ends.
var ends = []string{"run_for", "exit_code", "exit_signal", "exit_err_msg", "plugin_exit_after", "start_error"} //nolint:gochecknoglobals // a constant

// options returns what a task block says of an attempt. If it does not say when or how
// the task ends, that is as it would be without the block.
func (r role) options(attempt int, untold cty.Value) cty.Value {
	said, ok := r.Attempts[attempt]
	if !ok {
		said = r.Script
	}
	if untold == cty.NilVal || slices.ContainsFunc(ends, said.Type().HasAttribute) {
		return said
	}
	all := untold.AsValueMap()
	maps.Copy(all, said.AsValueMap())
	return cty.ObjectVal(all)
}
