// Package procstats measures the resource usage of processes, as in Nomad's
// API.
package procstats

import (
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Sampler measures a changing set of processes. CPU usage is a rate, so it
// keeps the last readings. The zero value is ready. It is not safe for
// concurrent use.
type Sampler struct {
	last map[int]reading
	at   time.Duration // on the clock of reading.started
}

// Sample returns the usage of the processes, in total and each. CPU is measured
// since the last sample or, for a new process, since its start. Ended processes
// are omitted.
func (s *Sampler) Sample(pids []int) *drivers.TaskResourceUsage {
	now := uptime()
	seen := make(map[int]reading, len(pids))
	usage := &drivers.TaskResourceUsage{}
	usage.Timestamp, usage.Pids = time.Now().UnixNano(), make(map[string]*api.ResourceUsage, len(pids))
	all := []*api.ResourceUsage{{ // measured even without processes
		MemoryStats: &api.MemoryStats{Measured: measuredMemory},
		CpuStats:    &api.CpuStats{Measured: measuredCPU},
	}}
	for _, pid := range pids {
		r, ok := read(pid)
		if !ok {
			continue
		}
		seen[pid] = r
		before, since := s.last[pid], s.at
		if before.started != r.started {
			before, since = reading{}, r.started
		}
		u := r.usage(before, now-since)
		usage.Pids[strconv.Itoa(pid)] = u
		all = append(all, u)
	}
	s.last, s.at = seen, now
	usage.ResourceUsage, usage.Processes = drivers.SumUsage(all...), len(seen)
	return usage
}

// measuredCPU lists the values that Nomad measures of raw_exec tasks. Those of
// memory depend on the system.
var measuredCPU = []string{drivers.MeasuredSystemMode, drivers.MeasuredUserMode, drivers.MeasuredPercent}

// usage returns the usage between an earlier reading and this one.
func (r reading) usage(before reading, ago time.Duration) *api.ResourceUsage {
	percent := func(used time.Duration) float64 {
		if ago <= 0 || used < 0 {
			return 0
		}
		return 100 * float64(used) / float64(ago)
	}
	user, system := percent(r.user-before.user), percent(r.system-before.system)
	return &api.ResourceUsage{
		MemoryStats: &api.MemoryStats{RSS: r.rss, Swap: r.swap, Measured: measuredMemory},
		CpuStats:    &api.CpuStats{UserMode: user, SystemMode: system, Percent: user + system, Measured: measuredCPU},
	}
}
