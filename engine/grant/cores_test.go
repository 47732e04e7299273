package grant

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// TestCoreClaims assigns first the free cores, then those with the fewest
// tasks.
func TestCoreClaims(t *testing.T) {
	t.Parallel()
	c := NewCores(nil)
	c.usable = func() []taskenv.Core {
		return []taskenv.Core{{ID: 0, MHz: 2000}, {ID: 2, MHz: 2000}, {ID: 3, MHz: 1500}}
	}
	group := func(cores ...*int) *api.TaskGroup {
		g := &api.TaskGroup{Tasks: []*api.Task{{Name: "bare"}}}
		for i, n := range cores {
			g.Tasks = append(g.Tasks, &api.Task{Name: string(rune('a' + i)), Resources: &api.Resources{Cores: n}})
		}
		return g
	}
	give := func(what string, g *api.TaskGroup, want map[string]taskenv.Cores) map[string]taskenv.Cores {
		t.Helper()
		got := c.Give(g)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return got
	}
	give("none", group(nil, new(0)), nil)
	first := give("two of three", group(new(2)), map[string]taskenv.Cores{"a": {IDs: []int{0, 2}, MHz: 4000}})
	give("the last free one, and a shared one", group(new(1), new(1)), map[string]taskenv.Cores{
		"a": {IDs: []int{3}, MHz: 1500}, "b": {IDs: []int{0}, MHz: 2000},
	})
	c.Release(first)
	give("one that is free again", group(new(1)), map[string]taskenv.Cores{"a": {IDs: []int{2}, MHz: 2000}})
	give("more than there are", group(new(9)), map[string]taskenv.Cores{"a": {IDs: []int{0, 2, 3}, MHz: 5500}})
	c.Adopt(map[string]taskenv.Cores{"t": {IDs: []int{0, 2}}})
	give("those of an earlier engine count", group(new(1)), map[string]taskenv.Cores{"a": {IDs: []int{3}, MHz: 1500}})
}

// TestCoresOfEndedTasks gives the cores of a task that has ended to the next
// one, and in a run with a seed those of all others.
func TestCoresOfEndedTasks(t *testing.T) {
	t.Parallel()
	c := NewCores(nil)
	c.usable = func() []taskenv.Core { return []taskenv.Core{{ID: 0}, {ID: 2}, {ID: 3}} }
	give := func(n int, want ...int) map[string]taskenv.Cores {
		t.Helper()
		given := c.Give(&api.TaskGroup{Tasks: []*api.Task{{Name: "t", Resources: &api.Resources{Cores: &n}}}})
		if diff := cmp.Diff(want, given["t"].IDs); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return given
	}
	give(1, 0)
	c.Release(give(1, 2))
	give(1, 2)
	give(2, 0, 3)
	c.Apart = true
	give(1, 0)
	give(2, 0, 2)
}

// TestCoresWithoutIDs counts cores as average ones.
func TestCoresWithoutIDs(t *testing.T) {
	t.Parallel()
	c := NewCores(&taskenv.Node{Attributes: map[string]string{"cpu.numcores": "4", "cpu.totalcompute": "10000"}})
	if diff := cmp.Diff(taskenv.Cores{MHz: 5000}, c.pick(2)); diff != "" {
		t.Error(diff)
	}
	if given := NewCores(nil).pick(2); given.MHz != 0 {
		t.Errorf("of an unknown speed: %+v", given)
	}
}
