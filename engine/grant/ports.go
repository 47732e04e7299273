// Package grant gives the allocations of a job ports and cores of this machine.
package grant

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/port"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// Ports assigns ports to the allocations of a job.
type Ports struct {
	Job    string // ID
	Claims *port.Claims
	Shared bool // several allocations may have the same port
	Memory *port.Memory
	Notice func(format string, args ...any)
	// Sequence gives the dynamic ports in a run with a seed; else it is nil.
	Sequence *port.Sequence
	Drivers  map[string]drivers.Driver

	Reserved bool // all static ports of the job are claimed
	Excess   bool // static ports may be claimed that are no longer needed

	static []int // claimed for all allocations
}

func (p *Ports) claimStatic(cfg *runner.Config) (claimed []int, err error) {
	for s := range staticOf(cfg.Group, cfg.Index) {
		if err := p.Claims.Static(s.Value, cfg.Alloc.Name); err != nil {
			return claimed, s.error(err)
		}
		claimed = append(claimed, s.Value)
	}
	return claimed, nil
}

// Plan decides on the dynamic ports of a slot in a run with a seed. It is called
// for one slot after another, so that it makes no difference which of several
// allocations is placed first.
func (p *Ports) Plan(g *api.TaskGroup, index, lane int) {
	if p.Sequence == nil {
		return
	}
	for task, n := range networksOf(g) {
		for _, dynamic := range n.DynamicPorts {
			p.planned(portOwner{g, index, lane, task}, n, dynamic)
		}
	}
}

// portOwner is the owner of a dynamic port: a slot, or a task in it.
type portOwner struct {
	group       *api.TaskGroup
	index, lane int
	task        string
}

// planned returns the port that the plan has for an owner.
func (p *Ports) planned(o portOwner, n *api.NetworkResource, wanted api.Port) int {
	want := 0
	if p.direct(o.group, n, wanted) {
		want = wanted.To
	}
	name := fmt.Sprintf("%s %s[%d] %d %s %s", p.Job, *o.group.Name, o.index, o.lane, o.task, wanted.Label)
	return p.Sequence.Of(name, want, func(number int) bool { return slices.Contains(p.static, number) })
}

// Give gives an allocation its ports. Those that are claimed must be released
// when it has ended.
func (p *Ports) Give(cfg *runner.Config, lane int) (claimed []int, err error) {
	if !p.Reserved {
		claimed, err = p.claimStatic(cfg)
	}
	cfg.TaskPorts = map[string][]taskenv.Port{}
	for task, n := range networksOf(cfg.Group) {
		var ports []taskenv.Port
		for _, static := range n.ReservedPorts {
			ports = append(ports, given(static, static.Value))
		}
		for _, dynamic := range n.DynamicPorts {
			if err != nil {
				break
			}
			var value int
			if value, err = p.dynamic(cfg, portOwner{cfg.Group, cfg.Index, lane, task}, n, dynamic); err == nil {
				claimed = append(claimed, value)
				ports = append(ports, given(dynamic, value))
			}
		}
		if task == "" {
			cfg.Ports = ports
		} else {
			cfg.TaskPorts[task] = ports
		}
	}
	if err != nil {
		p.Release(claimed)
		return nil, err
	}
	return claimed, nil
}

func given(p api.Port, value int) taskenv.Port {
	return taskenv.Port{Label: p.Label, Value: value, To: p.To, HostIP: port.Address}
}

// dynamic claims the port that the slot had last, if it is free. Where a
// network of its own would forward a port to the one that the task listens on,
// and there is no such network, both are the same if possible.
func (p *Ports) dynamic(cfg *runner.Config, o portOwner, n *api.NetworkResource, wanted api.Port) (value int, err error) {
	if p.Sequence != nil {
		return p.planned(o, n, wanted), nil
	}
	owner := fmt.Sprintf("%s[%d] %s %s", *o.group.Name, o.index, o.task, wanted.Label)
	want := p.Memory.Of(owner)
	direct := p.direct(o.group, n, wanted)
	if direct {
		want = wanted.To
	}
	if value, err = p.Claims.Dynamic(cfg.Alloc.Name, want, p.Memory.Has); err != nil {
		return 0, fmt.Errorf("cannot find a port for label %q: %w", wanted.Label, err)
	}
	if direct && value != wanted.To {
		p.Notice("%s: port %d is in use, and nothing forwards %d to it for port %q", cfg.Alloc.Name, wanted.To, value, wanted.Label)
	}
	if err := p.Memory.Keep(owner, value); err != nil {
		p.Notice("the ports of job %q may be others in the next run: %v", p.Job, err)
	}
	return value, nil
}

// direct reports whether the tasks of a group listen on the port that another
// would be forwarded to, if the group had the network that it asks for.
func (p *Ports) direct(g *api.TaskGroup, n *api.NetworkResource, wanted api.Port) bool {
	return wanted.To > 0 && n.Mode != "" && n.Mode != "host" && !slices.ContainsFunc(g.Tasks, func(t *api.Task) bool {
		return p.Drivers[t.Driver].Capabilities().FSIsolation == drivers.FSIsolationImage
	})
}

// Adopt claims the ports that an allocation got from an earlier engine.
func (p *Ports) Adopt(cfg *runner.Config) (claimed []int) {
	for _, ports := range append(slices.Collect(maps.Values(cfg.TaskPorts)), cfg.Ports) {
		for _, had := range ports {
			if !slices.Contains(p.static, had.Value) && p.adoptPort(had.Value, cfg.Alloc.Name) {
				claimed = append(claimed, had.Value)
			}
		}
	}
	return claimed
}

func (p *Ports) adoptPort(number int, alloc string) bool {
	err := p.Claims.Adopt(number, alloc)
	if err != nil {
		p.Notice("%s: %v", alloc, err)
	}
	return err == nil
}

// Reserve claims the static ports of all allocations of a version, in addition
// to those already claimed. On error it changes nothing.
func (p *Ports) Reserve(job *api.Job) error {
	wanted, had := map[int]string{}, len(p.static)
	for s := range StaticPorts(job) {
		err := error(nil)
		name := s.alloc(p.Job)
		if other, twice := wanted[s.Value]; twice && !p.Shared {
			err = fmt.Errorf("port %d is in use by %s", s.Value, other)
		} else if wanted[s.Value] = name; !slices.Contains(p.static[:had], s.Value) {
			err = p.Claims.Static(s.Value, name)
		}
		if err != nil {
			p.ReleaseStatic(had)
			return s.error(err)
		}
		if !slices.Contains(p.static, s.Value) {
			p.static = append(p.static, s.Value)
		}
	}
	p.Reserved = true
	return nil
}

// AdoptStatic is like Reserve, for a job that an earlier engine has started.
func (p *Ports) AdoptStatic(job *api.Job) {
	for s := range StaticPorts(job) {
		if p.adoptPort(s.Value, s.alloc(p.Job)) {
			p.static = append(p.static, s.Value)
		}
	}
	p.Reserved = true
}

// KeepStatic releases the static ports that a version does not need.
func (p *Ports) KeepStatic(job *api.Job) {
	p.Excess = false
	needed := map[int]bool{}
	for s := range StaticPorts(job) {
		needed[s.Value] = true
	}
	p.static = slices.DeleteFunc(p.static, func(number int) bool {
		if !needed[number] {
			p.Claims.Release(number)
		}
		return !needed[number]
	})
}

// Release releases claimed ports.
func (p *Ports) Release(claimed []int) {
	for _, number := range claimed {
		p.Claims.Release(number)
	}
}

// Static returns how many static ports are claimed for all allocations.
func (p *Ports) Static() int { return len(p.static) }

// ReleaseStatic releases all static ports except the first had ones.
func (p *Ports) ReleaseStatic(had int) {
	p.Release(p.static[had:])
	p.static = p.static[:had]
}
