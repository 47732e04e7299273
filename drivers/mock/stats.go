package mock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// TaskStats makes samples up: some resident memory, and nothing else.
func (d *Driver) TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	if interval <= 0 {
		interval = time.Second
	}
	samples := make(chan *drivers.TaskResourceUsage, 1)
	go func() {
		defer close(samples)
		if !t.running() {
			return
		}
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case samples <- sample():
			default: // the last one is still there
			}
			select {
			case <-tick.C:
			case <-t.exit.Done():
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return samples, nil
}

func sample() *drivers.TaskResourceUsage {
	return &drivers.TaskResourceUsage{TaskResourceUsage: api.TaskResourceUsage{
		ResourceUsage: &api.ResourceUsage{
			MemoryStats: &api.MemoryStats{RSS: rand.Uint64N(1 << 30), Measured: []string{drivers.MeasuredRSS}},
			CpuStats:    &api.CpuStats{},
		},
		Timestamp: time.Now().UnixNano(),
		Pids:      map[string]*api.ResourceUsage{},
	}}
}
