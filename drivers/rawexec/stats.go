package rawexec

import (
	"context"
	"slices"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/process"
)

// fresh is how long a survey or a sample is reused. CPU usage over a shorter
// time would be mostly rounding errors.
const fresh = 200 * time.Millisecond

// TaskStats samples the usage of a task's processes, including those of
// commands that run in it.
func (d *Driver) TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	return d.tasks.Sample(ctx, id, interval, func(t *task) *drivers.TaskResourceUsage { return t.sample(d) })
}

// sample measures the task, or returns a recent sample.
func (t *task) sample(d *Driver) *drivers.TaskResourceUsage {
	t.stats.Lock()
	defer t.stats.Unlock()
	if t.lastSample == nil || time.Since(t.sampledAt) > fresh {
		t.lastSample, t.sampledAt = t.sampler.Sample(d.pidsOf(t)), time.Now()
	}
	return t.lastSample
}

// pidsOf returns the processes of a task.
func (d *Driver) pidsOf(t *task) []int {
	trees := d.census.look(d.run, t.StartedAt)
	pids := append([]int{}, trees[t.process]...)
	t.mu.Lock()
	defer t.mu.Unlock()
	for command := range t.commands {
		pids = append(pids, trees[command]...)
	}
	if t.group != nil { // the cgroup knows all of them
		pids = append(pids, t.group.Processes()...)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// look returns the processes of each task, from a survey that is not older than
// the given time.
func (c *census) look(run *process.Run, after time.Time) map[*process.Process][]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) > fresh || !c.at.After(after) {
		c.at, c.trees = now, run.Census()
	}
	return c.trees
}
