package update

import (
	"cmp"
	"math"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// Next returns the orders to carry out now. Once they are carried out, Next
// returns no orders until something else happens. Waits reports whether
// something is left for later.
func (r *Rollout) Next() (orders []Order, waits bool) {
	r.kinds, r.verdicts = map[kindKey]Kind{}, map[string]health.Verdict{}
	if r.Deployment != nil {
		for _, g := range r.Deployment.Groups {
			for _, id := range g.Healthy {
				r.verdicts[id] = health.Healthy
			}
			for _, id := range g.Unhealthy {
				r.verdicts[id] = health.Unhealthy
			}
		}
	}
	places := map[string][]int{}
	for i, p := range r.Places {
		places[p.Group] = append(places[p.Group], i)
	}
	for _, name := range r.names() {
		p := groupPass{Rollout: r, name: name, places: places[name]}
		p.run()
		orders, waits = append(orders, p.orders...), waits || p.waits
	}
	return orders, waits
}

// names returns the groups of the job, then those that only places have.
func (r *Rollout) names() []string {
	names := groupNames(r.Job, nil)
	for _, p := range r.Places {
		if !slices.Contains(names, p.Group) {
			names = append(names, p.Group)
		}
	}
	return names
}

// groupPass decides what to do with one group.
type groupPass struct {
	*Rollout
	name   string
	places []int // indexes into Places

	deployed *health.DeploymentGroup // nil: the group takes no part in a deployment
	count    int
	taken    map[int]bool // indexes that have a place
	outdated []int        // places whose allocations must be replaced
	gone     []int        // places of an older version in which another allocation may run at once
	canaries []int        // places that are canaries

	orders []Order
	waits  bool
}

func (p *groupPass) run() {
	p.taken = map[int]bool{}
	if g := p.Job.LookupTaskGroup(p.name); g != nil && !p.Job.IsPeriodic() && !p.Job.IsParameterized() {
		p.count = Count(p.Job, g)
	}
	if p.Deployment != nil {
		p.deployed = p.Deployment.Groups[p.name]
	}
	limit := p.limit()
	p.sortCanaries()
	p.sortPlaces()
	ready := p.ready()
	limit = p.fill(ready, limit)
	slices.SortFunc(p.outdated, p.byIndex)
	for i, at := range p.outdated {
		if !ready || i >= limit {
			p.waits = true
			break
		}
		p.order(Replace, at)
	}
	p.placeCanaries()
}

func (p *groupPass) byIndex(a, b int) int { return cmp.Compare(p.Places[a].Index, p.Places[b].Index) }

func (p *groupPass) order(do Action, at int) {
	place := p.Places[at]
	p.orders = append(p.orders, Order{Action: do, At: at, Group: p.name, Index: place.Index, Canary: place.Canary})
}

// ready reports whether anything may be placed now.
func (p *groupPass) ready() bool {
	switch {
	case p.deployed == nil:
		return true
	case p.Deployment.Status == health.DeploymentRunning, p.Deployment.Status == health.DeploymentSuccessful:
		return !p.deployed.Canarying()
	}
	return false
}

// limit returns how many allocations may be replaced now: max_parallel minus
// those that are not healthy yet, and none if one is unhealthy.
func (p *groupPass) limit() int {
	if p.deployed == nil {
		return math.MaxInt
	}
	limit := *p.Job.LookupTaskGroup(p.name).Update.MaxParallel
	for _, at := range p.places {
		place := p.Places[at]
		if place.Version != *p.Job.Version {
			continue
		}
		switch p.verdicts[place.Alloc] {
		case health.Unhealthy:
			return 0
		case health.Unknown:
			if !place.Undeployed {
				limit--
			}
		case health.Healthy:
		}
	}
	return max(limit, 0)
}

// sortCanaries stops surplus canaries and promotes good ones.
func (p *groupPass) sortCanaries() {
	for _, at := range p.places {
		place := p.Places[at]
		switch {
		case !place.Canary:
		case p.deployed == nil, place.Version != *p.Job.Version,
			!p.deployed.Promoted && !p.Deployment.Active():
			p.order(Stop, at)
		case !p.deployed.Promoted:
			p.canaries = append(p.canaries, at)
		case place.Index >= p.count:
			p.order(Stop, at)
		default:
			p.order(Promote, at)
			p.taken[place.Index] = true
		}
	}
}

// sortPlaces decides about all places except canaries. It adds places that must
// wait to the lists.
func (p *groupPass) sortPlaces() {
	for _, at := range p.places {
		place := p.Places[at]
		switch {
		case place.Canary:
			continue
		case place.Index >= p.count, p.taken[place.Index]: // by a canary
			p.order(Stop, at)
		case place.Version == *p.Job.Version:
		case p.isFree(place):
			p.gone = append(p.gone, at)
		case p.kindOf(p.name, place.Version) == Destructive: // as in Nomad even if it has failed
			p.outdated = append(p.outdated, at)
		default:
			p.order(Change, at)
		}
		p.taken[place.Index] = true
	}
}

// isFree reports whether another allocation of the newest version may run in a place
// at once.
func (r *Rollout) isFree(place Place) bool {
	return r.isForgotten(place) || place.State == Due && r.kindOf(place.Group, place.Version) != Destructive
}

// isForgotten reports whether the allocation of a place has ended so that it does
// not count for a newer version, whatever has changed. These are Nomad's rules.
func (r *Rollout) isForgotten(place Place) bool {
	switch *r.Job.Type {
	case api.JobTypeSysbatch:
		return false
	case api.JobTypeBatch, api.JobTypeSystem:
		return place.State != Living
	}
	return place.State == Over
}

// fill places allocations in all places without one, and returns the rest of
// the limit.
func (p *groupPass) fill(ready bool, limit int) int {
	slices.SortFunc(p.gone, p.byIndex)
	for _, at := range p.gone {
		if p.waits = p.waits || !ready; ready {
			if p.Places[at].State == Due {
				p.order(Reschedule, at)
			} else {
				p.order(Replace, at)
			}
			limit--
		}
	}
	for i := range p.count {
		if p.taken[i] {
			continue
		}
		if p.waits = p.waits || !ready; ready {
			p.orders = append(p.orders, Order{Action: Start, Group: p.name, Index: i})
			limit--
		}
	}
	return max(limit, 0)
}

// placeCanaries places the missing canaries, first next to the allocations they
// may replace, then beyond the last index.
func (p *groupPass) placeCanaries() {
	if p.deployed == nil || !p.deployed.Canarying() {
		return
	}
	p.waits = true
	if p.Deployment.Status != health.DeploymentRunning {
		return
	}
	beside := map[int]bool{}
	for _, at := range p.canaries {
		beside[p.Places[at].Index] = true
	}
	var free []int
	for _, at := range slices.Concat(p.outdated, p.gone) {
		if i := p.Places[at].Index; !beside[i] {
			free = append(free, i)
		}
	}
	slices.Sort(free)
	for next := p.count; len(free) < p.deployed.Canaries; next++ {
		if !beside[next] {
			free = append(free, next)
		}
	}
	for _, i := range free[:max(0, p.deployed.Canaries-len(p.canaries))] {
		p.orders = append(p.orders, Order{Action: Start, Group: p.name, Index: i, Canary: true})
	}
}
