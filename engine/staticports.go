package engine

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// staticPort is a static port of an allocation.
type staticPort struct {
	api.Port
	group *api.TaskGroup
	index int
}

// staticPorts are those of all allocations of a version of a job.
func staticPorts(job *api.Job) iter.Seq[staticPort] {
	return func(yield func(staticPort) bool) {
		for _, g := range job.TaskGroups {
			for i := range update.Count(job, g) {
				for _, n := range networksOf(g) {
					for _, p := range n.ReservedPorts {
						if !p.IgnoreCollision && !yield(staticPort{p, g, i}) {
							return
						}
					}
				}
			}
		}
	}
}

// reserve claims the static ports of all allocations that a version of the job
// will have, beside those that are claimed already. So what cannot work is not
// begun. If it fails nothing has changed.
func (r *jobRun) reserve(job *api.Job) error {
	wanted, had := map[int]string{}, len(r.static)
	for p := range staticPorts(job) {
		err := error(nil)
		name := r.allocName(*p.group.Name, p.index)
		if other, twice := wanted[p.Value]; twice && !r.engine.cfg.LogicalPorts {
			err = fmt.Errorf("port %d is in use by %s", p.Value, other)
		} else if wanted[p.Value] = name; !slices.Contains(r.static[:had], p.Value) {
			err = r.engine.ports.Static(p.Value, name)
		}
		if err != nil {
			r.releaseStatic(had)
			return fmt.Errorf("port %q of group %q: static %w", p.Label, *p.group.Name, err)
		}
		if !slices.Contains(r.static, p.Value) {
			r.static = append(r.static, p.Value)
		}
	}
	r.reserved = true
	return nil
}

// releaseStatic gives back the static ports that were claimed after the first
// had ones.
func (r *jobRun) releaseStatic(had int) {
	r.releasePorts(r.static[had:])
	r.static = r.static[:had]
}

// adoptStatic does what reserve does, for a job that runs since an earlier
// engine.
func (r *jobRun) adoptStatic() {
	for p := range staticPorts(r.job) {
		name := r.allocName(*p.group.Name, p.index)
		if err := r.engine.ports.Adopt(p.Value, name); err != nil {
			r.notice("%s: %v", name, err)
			continue
		}
		r.static = append(r.static, p.Value)
	}
	r.reserved = true
}

// giveBackStatic gives back the static ports that only earlier versions had,
// when nothing of these runs any more. The lock is held.
func (r *jobRun) giveBackStatic() {
	newest := r.newest.Load()
	if !r.excess || r.waits || slices.ContainsFunc(r.slots, func(s *slot) bool {
		return s.present != nil && s.last().Version != *newest.Version
	}) {
		return
	}
	r.excess = false
	needed := map[int]bool{}
	for p := range staticPorts(newest) {
		needed[p.Value] = true
	}
	r.static = slices.DeleteFunc(r.static, func(number int) bool {
		if !needed[number] {
			r.engine.ports.Release(number)
		}
		return !needed[number]
	})
}
