package runner

import (
	"context"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// watchMemory publishes an event, once for every start of the task, if the task
// has used more memory than its job allows and nothing enforces the limit. The
// peaks come from the end of the task and from samples that clients request;
// there is no sampling of its own. A peak of 0 is unknown.
func (t *task) watchMemory(handle string, peak int64) {
	limit := t.granted().MemoryLimitBytes()
	if limit == 0 || peak <= limit {
		return
	}
	if e, ok := t.driver.(drivers.MemoryEnforcer); ok && e.EnforcesMemory() {
		return
	}
	t.alloc.inbox.post(func() {
		if t.overLimit == handle {
			return
		}
		t.overLimit = handle
		t.apply("", event.OverMemoryLimit(peak, limit))
	})
}

// largest returns the memory of the largest process of a sample, in bytes. The
// sum would count shared pages several times.
func largest(s *drivers.TaskResourceUsage) (rss int64) {
	for _, u := range s.Pids {
		if u.MemoryStats != nil {
			rss = max(rss, int64(u.MemoryStats.RSS))
		}
	}
	return rss
}

// Stats returns the current usage of the running tasks by task, or of one task
// if name is not empty. It omits tasks whose driver has no statistics.
func (a *Alloc) Stats(ctx context.Context, name string) map[string]*drivers.TaskResourceUsage {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handles := map[*task]string{}
	a.inbox.ask(func() {
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
		samples, err := d.TaskStats(ctx, handle, time.Hour) // the first sample comes at once
		if err != nil {
			continue // the task has ended
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

// withTicks adds a sample's CPU usage in MHz, unless the driver has measured
// it.
func withTicks(node *taskenv.Node, s *drivers.TaskResourceUsage) *drivers.TaskResourceUsage {
	cpu := s.ResourceUsage.CpuStats
	if cpu == nil || cpu.TotalTicks != 0 || node == nil {
		return s
	}
	sample, resources, ticks := *s, *s.ResourceUsage, *cpu // the sample is shared with others
	ticks.TotalTicks = cpu.Percent / 100 * node.CoreMHz()
	resources.CpuStats, sample.ResourceUsage = &ticks, &resources
	return &sample
}
