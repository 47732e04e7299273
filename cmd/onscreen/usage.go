package onscreen

import (
	"context"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

// measureLimit limits how long the answers take.
const measureLimit = time.Minute

// startMeasuring measures the visible tasks, and asks for the ports of allocations that
// have become visible.
func (s *Session) startMeasuring(ctx context.Context) {
	if s.measure.busy {
		return
	}
	tasks, placed := s.tasks(s.model.Visible()), s.tasks(s.model.Placed())
	var checked []*event.Alloc
	if s.Inspect != nil {
		checked = s.model.Checked()
	}
	if len(tasks)+len(placed)+len(checked) == 0 {
		s.measure.wait(false)
		return
	}
	s.measure.busy = true
	s.start(func() {
		usage, ports := s.ask(ctx, tasks, placed)
		polls := len(checked) > 0 && s.inspected(ctx, checked)
		s.do(ctx, func() {
			s.measure.polls = polls
			changed := s.model.Measured(usage)
			for alloc, of := range ports {
				s.model.SetPorts(alloc, of)
			}
			s.measure.busy = false
			s.measure.wait(changed)
		})
	})
}

// ask requests the usage of tasks, and the ports of allocations. It ignores errors
// of requests.
func (s *Session) ask(ctx context.Context, tasks, placed []*client.Task) (map[screen.Target]screen.Usage, map[string][]screen.Port) {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	usage, ports := map[screen.Target]screen.Usage{}, map[string][]screen.Port{}
	used, _ := client.Stats(ctx, tasks)
	for t, u := range used {
		of := screen.Usage{Memory: client.MemoryOf(u.ResourceUsage)}
		if cpu := u.ResourceUsage.CpuStats; cpu != nil {
			of.CPU = cpu.Percent
		}
		usage[screen.Target{Alloc: t.Alloc.ID, Task: t.Name}] = of
	}
	for _, t := range placed {
		list, err := client.Ports(ctx, []*client.Task{t})
		if err != nil {
			continue
		}
		of := []screen.Port{}
		for _, p := range list {
			of = append(of, screen.Port{Label: p.Label, Address: p.Address()})
		}
		ports[t.Alloc.ID] = of
	}
	return usage, ports
}

// inspected publishes news about the services and checks of allocations, and reports
// whether they have any.
func (s *Session) inspected(ctx context.Context, allocs []*event.Alloc) bool {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	return s.Inspect(ctx, s.Server, allocs)
}

// tasks returns tasks of the run, for requests.
func (s *Session) tasks(targets []screen.Target) (tasks []*client.Task) {
	for _, t := range targets {
		if alloc := s.model.Alloc(t.Alloc); alloc != nil {
			tasks = append(tasks, s.Server.Task(alloc, t.Task))
		}
	}
	return tasks
}
