package update

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Step is what a rollout does at once with the allocations of a group. Indexes
// are in ascending order. The next step starts when the allocations of this one
// are healthy. A step that promotes canaries starts when a user orders it,
// unless the group has auto_promote.
type Step struct {
	Group                                              string
	Create, Canary, Replace, InPlace, Promote, Destroy []int
}

// Steps returns the complete rollout of a canonical job, group by group,
// assuming that every allocation becomes healthy and all canaries are promoted.
// No place has the version of job yet. kind returns the effect of the step from
// an older version. A promoted canary replaces the allocation with its index.
func Steps(job *api.Job, places []Place, kind func(group string, version uint64) Kind) []Step {
	r := &Rollout{Job: job, Places: slices.Clone(places), given: kind}
	r.Deployment = r.begin(false, time.Time{})
	names := r.names()
	byGroup := map[string][]Step{}
	for {
		orders, _ := r.Next()
		if len(orders) == 0 && !r.promote() {
			break
		}
		for _, s := range r.carryOut(orders) {
			byGroup[s.Group] = append(byGroup[s.Group], s)
		}
	}
	var all []Step
	for _, name := range names {
		all = append(all, byGroup[name]...)
	}
	return all
}

// promote promotes the canaries that the rollout waits for, and reports whether
// there were any.
func (r *Rollout) promote() (promoted bool) {
	if r.Deployment == nil {
		return false
	}
	for _, g := range r.Deployment.Groups {
		promoted = promoted || g.Canarying()
		g.Promoted = true
	}
	return promoted
}

// carryOut carries out orders as if they took no time and everything became
// healthy. It returns them as one step for each group.
func (r *Rollout) carryOut(orders []Order) (steps []Step) {
	stopped := map[int]bool{}
	for _, o := range orders {
		if o.Action == Change && r.Places[o.At].State != Living { // it stays as it is
			r.Places[o.At].Version, r.Places[o.At].Undeployed = *r.Job.Version, true
			continue
		}
		i := slices.IndexFunc(steps, func(s Step) bool { return s.Group == o.Group })
		if i < 0 {
			i, steps = len(steps), append(steps, Step{Group: o.Group})
		}
		at, s := o.At, &steps[i]
		switch o.Action {
		case Start:
			at, r.Places = len(r.Places), append(r.Places, Place{Group: o.Group, Index: o.Index, Canary: o.Canary})
			if o.Canary {
				s.Canary = append(s.Canary, o.Index)
			} else {
				s.Create = append(s.Create, o.Index)
			}
		case Replace:
			if r.isForgotten(r.Places[at]) {
				s.Create = append(s.Create, o.Index)
			} else {
				s.Replace = append(s.Replace, o.Index)
			}
		case Reschedule:
			s.Create = append(s.Create, o.Index)
		case Change:
			s.InPlace = append(s.InPlace, o.Index)
		case Promote:
			r.Places[at].Canary = false
			s.Promote = append(s.Promote, o.Index)
		case Stop:
			stopped[at] = true
			if r.Places[at].State != Over {
				s.Destroy = append(s.Destroy, o.Index)
			}
		}
		if o.Action != Stop {
			r.settle(at)
		}
	}
	for i := range steps {
		s := &steps[i]
		s.Destroy = slices.DeleteFunc(s.Destroy, func(index int) bool { return slices.Contains(s.Promote, index) })
		for _, list := range []*[]int{&s.Create, &s.Canary, &s.Replace, &s.InPlace, &s.Promote, &s.Destroy} {
			slices.Sort(*list)
		}
	}
	left := r.Places[:0]
	for i, p := range r.Places {
		if !stopped[i] {
			left = append(left, p)
		}
	}
	r.Places = left
	return steps
}

// settle gives a place a healthy allocation of the newest version.
func (r *Rollout) settle(at int) {
	p := &r.Places[at]
	p.Version, p.State = *r.Job.Version, Living
	p.Alloc = fmt.Sprintf("%s[%d] %t", p.Group, p.Index, p.Canary)
	if r.Deployment != nil && r.Deployment.Groups[p.Group] != nil {
		g := r.Deployment.Groups[p.Group]
		g.Healthy = append(g.Healthy, p.Alloc)
	}
}
