package runner

import (
	"context"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// watchMemory tells, once for every start of the task, that it has had more
// memory than its job allows where nobody enforces that. Nothing watches for
// it: what is known comes with the end of the task and with the samples that
// somebody asks for. A peak of 0 is unknown.
func (t *task) watchMemory(handle string, peak int64) {
	limit := t.granted().MemoryLimitBytes()
	if limit == 0 || peak <= limit {
		return
	}
	if e, ok := t.driver.(drivers.MemoryEnforcer); ok && e.EnforcesMemory() {
		return
	}
	t.alloc.post(func() {
		if t.overLimit == handle {
			return
		}
		t.overLimit = handle
		t.apply("", event.OverMemoryLimit(peak, limit))
	})
}

// largest is the memory of the largest process of a sample, in bytes. Pages
// that processes share are counted for each, so their sum proves nothing.
func largest(s *drivers.TaskResourceUsage) (rss int64) {
	for _, u := range s.Pids {
		if u.MemoryStats != nil {
			rss = max(rss, int64(u.MemoryStats.RSS))
		}
	}
	return rss
}

// Stats returns what the running tasks use now, by task; with a name only that
// task. Tasks whose driver cannot tell are left out.
func (a *Alloc) Stats(ctx context.Context, name string) map[string]*drivers.TaskResourceUsage {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handles := map[*task]string{}
	a.ask(func() {
		for _, t := range a.tasks {
			if t.handle != "" && (name == "" || name == t.name) {
				handles[t] = t.handle
			}
		}
	})
	usage := make(map[string]*drivers.TaskResourceUsage, len(handles))
	for t, handle := range handles {
		d, ok := t.driver.(drivers.StatsCollector)
		if !ok {
			continue
		}
		samples, err := d.TaskStats(ctx, handle, time.Hour) // the first one comes at once
		if err != nil {
			continue // it has ended meanwhile
		}
		select {
		case s, ok := <-samples:
			if ok {
				usage[t.name] = withTicks(a.cfg.Node, s)
				t.watchMemory(handle, largest(s))
			}
		case <-ctx.Done():
		}
	}
	return usage
}

// withTicks adds how much of the CPU's speed a sample stands for, in MHz,
// unless the driver has measured it.
func withTicks(node *taskenv.Node, s *drivers.TaskResourceUsage) *drivers.TaskResourceUsage {
	cpu := s.ResourceUsage.CpuStats
	if cpu == nil || cpu.TotalTicks != 0 || node == nil {
		return s
	}
	sample, resources, ticks := *s, *s.ResourceUsage, *cpu // others have the same sample
	ticks.TotalTicks = cpu.Percent / 100 * node.CoreMHz()
	resources.CpuStats, sample.ResourceUsage = &ticks, &resources
	return &sample
}
