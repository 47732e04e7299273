package update

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Step is what a rollout does at once with the allocations of a group, by their
// indexes in ascending order. The next step begins when their allocations are
// healthy; one that promotes canaries begins when that is ordered, unless the
// group promotes them itself.
type Step struct {
	Group                                              string
	Create, Canary, Replace, InPlace, Promote, Destroy []int
}

// Steps returns the rollout of a canonical job to its end, group by group, as it
// goes when every allocation becomes healthy and all canaries are promoted. Job
// has a version that no place has; kind says what the step from an older version
// means. A canary that is promoted takes the place of the allocation with its
// index.
func Steps(job *api.Job, places []Place, kind func(group string, version uint64) Kind) []Step {
	r := &Rollout{Job: job, Places: slices.Clone(places), given: kind}
	r.Deployment = r.begin(time.Time{})
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

// promote takes the canaries that are waited for, and reports whether there are
// any.
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

// carryOut does what is ordered, as if it took no time and everything became
// healthy, and returns it as a step of each group.
func (r *Rollout) carryOut(orders []Order) (steps []Step) {
	stopped := map[int]bool{}
	for _, o := range orders {
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
			if r.Places[at].State == Living {
				s.Replace = append(s.Replace, o.Index)
			} else {
				s.Create = append(s.Create, o.Index)
			}
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
