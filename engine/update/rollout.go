package update

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// State is the state of a place.
type State int

// The states of a place.
const (
	Living  State = iota // its allocation is running, or ending to make room for another one
	Waiting              // for the replacement of a failed allocation
	Failed               // its allocation has failed and will not be replaced by itself
	Due                  // likewise, because of its deployment alone: its policy replaces it now
	Over                 // its allocation has ended otherwise
)

// Place runs the allocations of one index of a group, one after another. A
// canary has a place of its own, next to that of the allocation it may replace.
type Place struct {
	Group      string
	Index      int
	Canary     bool   // not promoted yet
	Version    uint64 // version of its allocation, or of the next one while an older one ends
	Alloc      string // ID of the allocation of that version; empty if there is none yet
	Undeployed bool   // that allocation is not part of the deployment of the version
	State      State
}

// Rollout moves a job to its newest version.
type Rollout struct {
	Job        *api.Job                                // the newest version
	Version    func(n uint64) *api.Job                 // returns an earlier version that a place has
	Deployment *health.Deployment                      // of the newest version; nil for none
	Places     []Place                                 // all that count, in any order
	given      func(group string, version uint64) Kind // effect of the step from a version, if known
	kinds      map[kindKey]Kind                        // cache of kindOf
	verdicts   map[string]health.Verdict               // verdicts on allocations, by ID
}

type kindKey struct {
	group   string
	version uint64
}

// Action is a change of a place.
type Action int

// The actions.
const (
	Start      Action = iota // creates a place
	Replace                  // replaces its allocation by one of the newest version
	Reschedule               // likewise, because its policy replaces one that has failed
	Change                   // changes its allocation in place, or moves one that has ended to the newest version
	Promote                  // makes its canary an ordinary allocation
	Stop                     // stops its allocation for good
)

// Order is one action to carry out now.
type Order struct {
	Action
	At     int // index into Places; unused for Start
	Group  string
	Index  int
	Canary bool
}

// kindOf returns the effect of the step from a version to the newest one on a
// group.
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
