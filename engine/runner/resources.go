package runner

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Granted returns what a task gets of what it asks for. Cores decide its CPU,
// and memory_max counts with oversubscription only.
// See https://developer.hashicorp.com/nomad/docs/job-specification/resources.
func (c *Config) Granted(t *api.Task) (out drivers.Resources) {
	r := t.Resources
	if r == nil {
		return out
	}
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&out.CPU, r.CPU)
	set(&out.MemoryMB, r.MemoryMB)
	if c.Node != nil && c.Node.MemoryOversubscription {
		set(&out.MemoryMaxMB, r.MemoryMaxMB)
	}
	if cores, ok := c.Cores[t.Name]; ok {
		out.CPU, out.Cores = cores.MHz, cores.IDs
	}
	return out
}

func (t *task) granted() drivers.Resources {
	cfg := t.alloc.Config()
	return cfg.Granted(t.spec())
}
