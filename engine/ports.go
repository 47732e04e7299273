package engine

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/port"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// networksOf are the networks of a group that count, as in Nomad the first of
// the group and, by their deprecated blocks, the first of each task; with the
// name of that task.
func networksOf(g *api.TaskGroup) iter.Seq2[string, *api.NetworkResource] {
	return func(yield func(string, *api.NetworkResource) bool) {
		if len(g.Networks) > 0 && !yield("", g.Networks[0]) {
			return
		}
		for _, t := range g.Tasks {
			if t.Resources != nil && len(t.Resources.Networks) > 0 && !yield(t.Name, t.Resources.Networks[0]) {
				return
			}
		}
	}
}

func (r *jobRun) claimStatic(g *api.TaskGroup, index int) (claimed []int, err error) {
	for _, n := range networksOf(g) {
		for _, p := range n.ReservedPorts {
			if p.IgnoreCollision {
				continue
			}
			if err := r.engine.ports.Static(p.Value, r.allocName(*g.Name, index)); err != nil {
				return claimed, fmt.Errorf("port %q of group %q: static %w", p.Label, *g.Name, err)
			}
			claimed = append(claimed, p.Value)
		}
	}
	return claimed, nil
}

// givePorts gives an allocation its ports. Those that are claimed must be
// released when it has ended.
func (r *jobRun) givePorts(cfg *runner.Config) (claimed []int, err error) {
	if !r.reserved {
		claimed, err = r.claimStatic(cfg.Group, cfg.Index)
	}
	cfg.TaskPorts = map[string][]taskenv.Port{}
	for task, n := range networksOf(cfg.Group) {
		var ports []taskenv.Port
		for _, p := range n.ReservedPorts {
			ports = append(ports, taskenv.Port{Label: p.Label, Value: p.Value, To: p.To, HostIP: port.Address})
		}
		for _, p := range n.DynamicPorts {
			if err != nil {
				break
			}
			var value int
			if value, err = r.dynamicPort(cfg, task, n, p); err == nil {
				claimed = append(claimed, value)
				ports = append(ports, taskenv.Port{Label: p.Label, Value: value, To: p.To, HostIP: port.Address})
			}
		}
		if task == "" {
			cfg.Ports = ports
		} else {
			cfg.TaskPorts[task] = ports
		}
	}
	if err != nil {
		r.releasePorts(claimed)
		return nil, err
	}
	return claimed, nil
}

// adoptPorts claims again the ports that an allocation has since an earlier
// engine.
func (r *jobRun) adoptPorts(cfg *runner.Config) (claimed []int) {
	adopt := func(number int) {
		if slices.Contains(r.static, number) {
			return
		}
		if err := r.engine.ports.Adopt(number, cfg.Alloc.Name); err != nil {
			r.notice("%s: %v", cfg.Alloc.Name, err)
			return
		}
		claimed = append(claimed, number)
	}
	for _, p := range cfg.Ports {
		adopt(p.Value)
	}
	for _, ports := range cfg.TaskPorts {
		for _, p := range ports {
			adopt(p.Value)
		}
	}
	return claimed
}

// dynamicPort claims the port that the slot had last, if it is free. Where a
// network of its own would hand a port on to the one that the task listens on,
// and there is no such network, both are the same if that can be.
func (r *jobRun) dynamicPort(cfg *runner.Config, task string, n *api.NetworkResource, p api.Port) (int, error) {
	slot := fmt.Sprintf("%s[%d] %s %s", *cfg.Group.Name, cfg.Index, task, p.Label)
	want := r.memory.Of(slot)
	direct := p.To > 0 && r.lacksNetwork(cfg.Group, n)
	if direct {
		want = p.To
	}
	value, err := r.engine.ports.Dynamic(cfg.Alloc.Name, want, r.memory.Has)
	if err != nil {
		return 0, fmt.Errorf("cannot find a port for label %q: %w", p.Label, err)
	}
	if direct && value != p.To {
		r.notice("%s: port %d is in use, and nothing hands %d on to it for port %q", cfg.Alloc.Name, p.To, value, p.Label)
	}
	if err := r.memory.Keep(slot, value); err != nil {
		r.notice("the ports of job %q may be others in the next run: %v", *r.job.ID, err)
	}
	return value, nil
}

// lacksNetwork reports whether a group asks for a network of its own that it
// does not get.
func (r *jobRun) lacksNetwork(g *api.TaskGroup, n *api.NetworkResource) bool {
	if n.Mode == "" || n.Mode == "host" {
		return false
	}
	for _, t := range g.Tasks {
		if r.engine.cfg.Drivers[t.Driver].Capabilities().FSIsolation == drivers.FSIsolationImage {
			return false
		}
	}
	return true
}

func (r *jobRun) releasePorts(claimed []int) {
	for _, number := range claimed {
		r.engine.ports.Release(number)
	}
}
