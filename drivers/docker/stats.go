package docker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// TaskStats samples the usage that the engine measures once a second.
func (d *Driver) TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	return d.tasks.Sample(ctx, id, interval, func(t *task) *drivers.TaskResourceUsage { return t.usage(ctx) })
}

// sample requests one measurement, and returns nil if the engine has none.
func (t *task) sample(ctx context.Context) *container.StatsResponse {
	ctx, cancel := context.WithTimeout(ctx, daemon.ReplyTime)
	defer cancel()
	answer, err := t.cli.ContainerStats(ctx, t.container, client.ContainerStatsOptions{})
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	s := &container.StatsResponse{}
	if json.NewDecoder(answer.Body).Decode(s) != nil || s.Read.IsZero() {
		return nil
	}
	return s
}

// usage returns the current usage of the container; nil if unknown. CPU times
// are those since the previous sample, or since the start.
func (t *task) usage(ctx context.Context) *drivers.TaskResourceUsage {
	s := t.sample(ctx)
	if s == nil {
		return nil
	}
	last := t.lastSample.Swap(s)
	if last == nil {
		last = &container.StatsResponse{Read: t.StartedAt}
	}
	return usageOf(s, last)
}

// usageOf returns the usage between the previous sample and this one.
func usageOf(s, last *container.StatsResponse) *drivers.TaskResourceUsage {
	memory := &api.MemoryStats{
		Usage: s.MemoryStats.Usage, MaxUsage: s.MemoryStats.MaxUsage,
		Measured: []string{drivers.MeasuredRSS, drivers.MeasuredCache, drivers.MeasuredSwap, drivers.MeasuredUsage},
	}
	detail := s.MemoryStats.Stats
	if rss, v1 := detail["rss"]; v1 {
		memory.RSS, memory.Cache, memory.Swap = rss, detail["cache"], detail["swap"]
		memory.Measured = append(memory.Measured, drivers.MeasuredMaxUsage)
	} else { // version 2 of cgroups
		memory.RSS, memory.Cache = detail["anon"], detail["file"]
	}
	took := float64(s.Read.Sub(last.Read))
	percent := func(now, before uint64) float64 {
		if took <= 0 || now < before {
			return 0
		}
		return float64(now-before) / took * 100
	}
	now, before := s.CPUStats.CPUUsage, last.CPUStats.CPUUsage
	cpu := &api.CpuStats{
		Percent:          percent(now.TotalUsage, before.TotalUsage),
		SystemMode:       percent(now.UsageInKernelmode, before.UsageInKernelmode),
		UserMode:         percent(now.UsageInUsermode, before.UsageInUsermode),
		ThrottledPeriods: s.CPUStats.ThrottlingData.ThrottledPeriods,
		ThrottledTime:    s.CPUStats.ThrottlingData.ThrottledTime,
		Measured: []string{
			drivers.MeasuredThrottledPeriods, drivers.MeasuredThrottledTime,
			drivers.MeasuredPercent, drivers.MeasuredSystemMode, drivers.MeasuredUserMode,
		},
	}
	usage := &drivers.TaskResourceUsage{Processes: int(s.PidsStats.Current)}
	usage.ResourceUsage = &api.ResourceUsage{MemoryStats: memory, CpuStats: cpu}
	usage.Timestamp = s.Read.UnixNano()
	return usage
}
