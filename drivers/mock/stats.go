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
	return d.tasks.Sample(ctx, id, interval, sample)
}

func sample(*task) *drivers.TaskResourceUsage {
	return &drivers.TaskResourceUsage{TaskResourceUsage: api.TaskResourceUsage{
		ResourceUsage: &api.ResourceUsage{
			MemoryStats: &api.MemoryStats{RSS: rand.Uint64N(1 << 30), Measured: []string{drivers.MeasuredRSS}},
			CpuStats:    &api.CpuStats{},
		},
		Timestamp: time.Now().UnixNano(),
		Pids:      map[string]*api.ResourceUsage{},
	}}
}
