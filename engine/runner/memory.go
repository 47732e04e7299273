package runner

import (
	"taskrun/drivers"
	"taskrun/engine/leaf/event"
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
