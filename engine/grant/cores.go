package grant

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// Cores assigns CPU cores to tasks that request them. As in Nomad, a task
// gets the first free cores. If too few are free, it shares the cores with the
// fewest tasks, because an allocation here never waits for resources.
type Cores struct {
	node   *taskenv.Node
	usable func() []taskenv.Core // measures them once
	// Apart: each allocation gets cores as if it were alone, so that it makes no
	// difference which of several is placed first.
	Apart bool

	mu    sync.Mutex
	users map[int]int // number of tasks of each core, by its ID
}

// NewCores returns the cores of a node, all of them free.
func NewCores(node *taskenv.Node) *Cores {
	if node == nil {
		node = &taskenv.Node{}
	}
	return &Cores{node: node, usable: sync.OnceValue(node.UsableCores), users: map[int]int{}}
}

// pick returns so many cores, or all there are. Where cores cannot be told
// apart, only their speed counts. The lock is held.
func (c *Cores) pick(wanted int) (given taskenv.Cores) {
	usable := c.usable()
	if len(usable) == 0 {
		return taskenv.Cores{MHz: int(float64(wanted) * c.node.CoreMHz())}
	}
	free := slices.SortedStableFunc(slices.Values(usable), func(a, b taskenv.Core) int {
		return cmp.Compare(c.users[a.ID], c.users[b.ID])
	})
	for _, core := range free[:min(wanted, len(free))] {
		given.IDs = append(given.IDs, core.ID)
		given.MHz += core.MHz
		c.users[core.ID]++
	}
	slices.Sort(given.IDs)
	return given
}

// Give returns the cores of a group's tasks, by task; nil if no task
// requests any.
func (c *Cores) Give(g *api.TaskGroup) (given map[string]taskenv.Cores) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Apart {
		clear(c.users)
	}
	for _, t := range g.Tasks {
		if t.Resources == nil || t.Resources.Cores == nil || *t.Resources.Cores <= 0 {
			continue
		}
		if given == nil {
			given = map[string]taskenv.Cores{}
		}
		given[t.Name] = c.pick(*t.Resources.Cores)
	}
	return given
}

// Adopt counts cores that an allocation got from an earlier engine.
func (c *Cores) Adopt(given map[string]taskenv.Cores) { c.count(given, 1) }

// Release returns the cores of an allocation.
func (c *Cores) Release(given map[string]taskenv.Cores) { c.count(given, -1) }

func (c *Cores) count(given map[string]taskenv.Cores, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cores := range given {
		for _, id := range cores.IDs {
			c.users[id] += by
		}
	}
}
