package engine

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// reserve claims the static ports of all allocations that a version of the job
// will have, in addition to those that are claimed already. If it fails nothing
// has changed.
func (p *jobPorts) reserve(job *api.Job) error {
	wanted, had := map[int]string{}, len(p.static)
	for s := range staticPorts(job) {
		err := error(nil)
		name := s.alloc(p.job)
		if other, twice := wanted[s.Value]; twice && !p.shared {
			err = fmt.Errorf("port %d is in use by %s", s.Value, other)
		} else if wanted[s.Value] = name; !slices.Contains(p.static[:had], s.Value) {
			err = p.claims.Static(s.Value, name)
		}
		if err != nil {
			p.releaseStatic(had)
			return s.error(err)
		}
		if !slices.Contains(p.static, s.Value) {
			p.static = append(p.static, s.Value)
		}
	}
	p.reserved = true
	return nil
}

// releaseStatic gives back the static ports that were claimed after the first
// had ones.
func (p *jobPorts) releaseStatic(had int) {
	p.release(p.static[had:])
	p.static = p.static[:had]
}

// adoptStatic does what reserve does, for a job that runs since an earlier
// engine.
func (p *jobPorts) adoptStatic(job *api.Job) {
	for s := range staticPorts(job) {
		if p.adoptPort(s.Value, s.alloc(p.job)) {
			p.static = append(p.static, s.Value)
		}
	}
	p.reserved = true
}

// keepStatic gives back the static ports that a version does not need.
func (p *jobPorts) keepStatic(job *api.Job) {
	p.excess = false
	needed := map[int]bool{}
	for s := range staticPorts(job) {
		needed[s.Value] = true
	}
	p.static = slices.DeleteFunc(p.static, func(number int) bool {
		if !needed[number] {
			p.claims.Release(number)
		}
		return !needed[number]
	})
}
