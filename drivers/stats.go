package drivers

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// StatsCollector is a driver that can measure the resource usage of a task.
type StatsCollector interface {
	// TaskStats sends a first sample at once and then one every interval (0:
	// Nomad's default, 1 s), until ctx or the task ends. Then the channel is
	// closed. A slow reader misses samples. Unknown tasks: ErrTaskNotFound.
	TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *TaskResourceUsage, error)
}

// TaskResourceUsage is a sample of the resource usage of a task's processes, as
// in Nomad's API: in total and, if the driver knows them, of each process.
// Memory is in bytes; CPU times are percent of one core, TotalTicks MHz,
// ThrottledTime nanoseconds; Timestamp is nanoseconds since 1970. Values that
// are not in Measured are 0.
type TaskResourceUsage struct {
	api.TaskResourceUsage
	Processes int // current number
}

// Names of measured values in MemoryStats.Measured and CpuStats.Measured.
// Clients show no others.
const (
	MeasuredRSS      = "RSS"
	MeasuredCache    = "Cache"
	MeasuredSwap     = "Swap"
	MeasuredUsage    = "Usage"
	MeasuredMaxUsage = "Max Usage"

	MeasuredSystemMode       = "System Mode"
	MeasuredUserMode         = "User Mode"
	MeasuredPercent          = "Percent"
	MeasuredThrottledPeriods = "Throttled Periods"
	MeasuredThrottledTime    = "Throttled Time"
)

// SumUsage adds up the usage of several processes or tasks. Measured is the
// union, and the lists of devices are joined.
func SumUsage(usages ...*api.ResourceUsage) *api.ResourceUsage {
	memory, cpu := &api.MemoryStats{}, &api.CpuStats{}
	sum := &api.ResourceUsage{MemoryStats: memory, CpuStats: cpu}
	for _, u := range usages {
		if m := u.MemoryStats; m != nil {
			memory.RSS += m.RSS
			memory.Cache += m.Cache
			memory.Swap += m.Swap
			memory.Usage += m.Usage
			memory.MaxUsage += m.MaxUsage
			memory.KernelUsage += m.KernelUsage
			memory.KernelMaxUsage += m.KernelMaxUsage
			memory.Measured = union(memory.Measured, m.Measured)
		}
		if c := u.CpuStats; c != nil {
			cpu.SystemMode += c.SystemMode
			cpu.UserMode += c.UserMode
			cpu.TotalTicks += c.TotalTicks
			cpu.ThrottledPeriods += c.ThrottledPeriods
			cpu.ThrottledTime += c.ThrottledTime
			cpu.Percent += c.Percent
			cpu.Measured = union(cpu.Measured, c.Measured)
		}
		sum.DeviceStats = append(sum.DeviceStats, u.DeviceStats...)
	}
	return sum
}

// union appends the names of more that are not in names.
func union(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
