package update

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// State is what a place does.
type State int

// The states of a place.
const (
	Living  State = iota // its allocation runs, or ends to make room for another one
	Waiting              // for the time when what has failed is replaced
	Over                 // its allocation has ended, and nothing follows by itself
)

// Place is where the allocations of one index of a group run, one after
// another. A canary has one of its own, beside that which it may replace.
type Place struct {
	Group   string
	Index   int
	Canary  bool   // not promoted yet
	Version uint64 // that its allocation is of, or will be when an older one has ended
	Alloc   string // ID of the allocation of that version; empty before there is one
	State   State
}

// Rollout is a job on its way to its newest version.
type Rollout struct {
	Job        *api.Job                                // the newest version
	Version    func(n uint64) *api.Job                 // an earlier one that a place is of
	Deployment *health.Deployment                      // of the newest version; nil for none
	Places     []Place                                 // all that count, in any order
	given      func(group string, version uint64) Kind // what a step from a version means, where that is known
	kinds      map[kindKey]Kind                        // and where it is compared
	verdicts   map[string]health.Verdict               // of allocations, by ID
}

type kindKey struct {
	group   string
	version uint64
}

// Action is what is to be done with a place.
type Action int

// The actions.
const (
	Start   Action = iota // a place that there is not
	Replace               // its allocation by one of the newest version
	Change                // its allocation in place
	Promote               // it is no canary any more
	Stop                  // its allocation, for good
)

// Order is one thing that is to be done now.
type Order struct {
	Action
	At     int // which of the Places; not for Start
	Group  string
	Index  int
	Canary bool
}

// Next returns what is to be done now. When all of that is done and nothing
// else has happened there is nothing more to do. Waits tells that something is
// left for later.
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

// names are the groups of the job, then those that only places have.
func (r *Rollout) names() []string {
	names := groupNames(r.Job, nil)
	for _, p := range r.Places {
		if !slices.Contains(names, p.Group) {
			names = append(names, p.Group)
		}
	}
	return names
}

// kindOf is what the step from a version to the newest means for a group.
func (r *Rollout) kindOf(group string, version uint64) Kind {
	if r.given != nil {
		return r.given(group, version)
	}
	key := kindKey{group, version}
	kind, ok := r.kinds[key]
	if ok {
		return kind
	}
	kind = Destructive
	if before := r.Version(version); before != nil {
		if was, is := groupNamed(before, group), groupNamed(r.Job, group); was != nil && is != nil {
			kind = kindOfGroup(before, r.Job, was, is)
		}
	}
	r.kinds[key] = kind
	return kind
}
