package runner

import (
	"context"
	"time"

	"taskrun/drivers"
)

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
				usage[t.name] = s
			}
		case <-ctx.Done():
		}
	}
	return usage
}
