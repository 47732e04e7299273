// Package hoststats measures the resources of a machine and their usage, like
// Nomad's client does.
package hoststats

import (
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Sampler takes samples. CPU usage is measured since the previous sample, or
// since boot for the first one. The zero Sampler is ready to use.
type Sampler struct {
	mu   sync.Mutex
	last map[string]times
}

// times is the time that a CPU has spent, in any unit.
type times struct{ user, system, idle, all float64 }

// used returns the usage of a CPU since the previous sample, in percent.
func (s *Sampler) used(cpu string, now times) *api.HostCPUStats {
	before := s.last[cpu]
	if s.last == nil {
		s.last = map[string]times{}
	}
	s.last[cpu] = now
	all := now.all - before.all
	if all <= 0 { // no time has passed
		return &api.HostCPUStats{CPU: cpu, Idle: 100}
	}
	percent := func(now, before float64) float64 { return max(0, 100*(now-before)/all) }
	return &api.HostCPUStats{
		CPU:    cpu,
		User:   percent(now.user, before.user),
		System: percent(now.system, before.system),
		Idle:   percent(now.idle, before.idle),
	}
}
