package engine

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// coreClaims assigns CPU cores to tasks that request them. As in Nomad, a task
// gets the first free cores. If too few are free, it shares the cores with the
// fewest tasks, because an allocation here never waits for resources.
type coreClaims struct {
	node   *taskenv.Node
	usable func() []taskenv.Core // measures them once
	// apart: each allocation gets cores as if it were alone, so that it makes no
	// difference which of several is placed first.
	apart bool

	mu    sync.Mutex
	users map[int]int // number of tasks of each core, by its ID
}

func newCoreClaims(node *taskenv.Node) *coreClaims {
	if node == nil {
		node = &taskenv.Node{}
	}
	return &coreClaims{node: node, usable: sync.OnceValue(node.UsableCores), users: map[int]int{}}
}

// give returns so many cores, or all there are. Where cores cannot be told
// apart, only their speed counts. The lock is held.
func (c *coreClaims) give(wanted int) (given taskenv.Cores) {
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

// giveAll returns the cores of a group's tasks, by task; nil if no task
// requests any.
func (c *coreClaims) giveAll(g *api.TaskGroup) (given map[string]taskenv.Cores) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apart {
		clear(c.users)
	}
	for _, t := range g.Tasks {
		if t.Resources == nil || t.Resources.Cores == nil || *t.Resources.Cores <= 0 {
			continue
		}
		if given == nil {
			given = map[string]taskenv.Cores{}
		}
		given[t.Name] = c.give(*t.Resources.Cores)
	}
	return given
}

// adopt counts cores that an allocation got from an earlier engine.
func (c *coreClaims) adopt(given map[string]taskenv.Cores) { c.count(given, 1) }

// release returns the cores of an allocation.
func (c *coreClaims) release(given map[string]taskenv.Cores) { c.count(given, -1) }

func (c *coreClaims) count(given map[string]taskenv.Cores, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cores := range given {
		for _, id := range cores.IDs {
			c.users[id] += by
		}
	}
}
