// Package hoststats measures what a machine has and uses, as Nomad's clients
// tell it of themselves.
package hoststats

import (
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Sampler measures. The use of CPUs is that since the sample before, in the
// first one that since the machine was started. The zero Sampler is ready.
type Sampler struct {
	mu   sync.Mutex
	last map[string]times
}

// times is what a CPU has spent, in any unit.
type times struct{ user, system, idle, all float64 }

// Sample measures now. Of disks it knows the one that a directory is on. The
// error is errors.ErrUnsupported where there is no way to measure.
func (s *Sampler) Sample(dir string) (*api.HostStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sample(dir)
}

// used returns what a CPU was used for since the sample before, in percent.
func (s *Sampler) used(cpu string, now times) *api.HostCPUStats {
	before := s.last[cpu]
	if s.last == nil {
		s.last = map[string]times{}
	}
	s.last[cpu] = now
	all := now.all - before.all
	if all <= 0 { // nothing has happened since
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
