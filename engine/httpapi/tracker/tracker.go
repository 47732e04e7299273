// Package tracker queries the engine's state for additional data, and converts
// its events to Nomad's event stream. It keeps only the latest part of that.
package tracker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/leaf/event"
)

// Tracker queries an engine and follows its events. Its methods are safe for
// concurrent use.
type Tracker struct {
	Feed *feed.Feed // the event stream

	engine *engine.Engine
	node   string // ID
	cancel context.CancelFunc
	ended  chan struct{}
}

// Alloc is the data about an allocation in the engine's state, besides the
// engine's own snapshot.
type Alloc struct {
	Created, Modified uint64 // indexes
	Next              string // ID of its replacement
	Awaited           bool   // it will be replaced
	Evaluation        string // ID of the evaluation that placed it
}

// Alloc returns the data about an allocation.
func (t *Tracker) Alloc(id string) (known Alloc) {
	known = Alloc{Created: fold.FirstIndex, Modified: fold.FirstIndex}
	t.engine.State().Look(func(run *fold.Run) {
		a := run.Find(id)
		if a == nil {
			return
		}
		known = Alloc{Created: a.Created, Modified: a.Modified, Awaited: a.Awaits(), Evaluation: a.Evaluation}
		if a.Replacement != nil {
			known.Next = a.Replacement.ID
		}
	})
	return known
}

// Deployment returns the indexes of a job's deployment, and the time of its last
// change.
func (t *Tracker) Deployment(job, id string) (created, modified uint64, changed time.Time) {
	created, modified = fold.FirstIndex, fold.FirstIndex
	t.engine.State().Look(func(run *fold.Run) {
		for _, d := range run.DeploymentsOf(job) {
			if d.ID == id {
				created, modified, changed = d.Created, d.Modified, d.Changed
			}
		}
	})
	return created, modified, changed
}

// JobOf returns the key of the job of a deployment, or "".
func (t *Tracker) JobOf(deployment string) (key string) {
	t.engine.State().Look(func(run *fold.Run) {
		for _, d := range run.Deployments {
			if d.ID == deployment {
				key = d.Job
			}
		}
	})
	return key
}

// Evaluations returns the kept evaluations, oldest first.
func (t *Tracker) Evaluations() (list []*fold.Evaluation) {
	t.engine.State().Look(func(run *fold.Run) { list = slices.Clone(run.Evaluations) })
	return list
}

// Evaluated returns the ID and the index of the latest evaluation with a given
// trigger of a job or of one of its allocations.
func (t *Tracker) Evaluated(job, alloc string, why event.Trigger) (id string, index uint64) {
	t.engine.State().Look(func(run *fold.Run) {
		if e := run.Evaluated(job, alloc, why); e != nil {
			id, index = e.ID, e.Index
		}
	})
	return id, index
}

// Version returns the index of a job's version, and the ID of the evaluation
// that came with it.
func (t *Tracker) Version(job string, number uint64) (index uint64, evaluation string) {
	index = fold.FirstIndex
	t.engine.State().Look(func(run *fold.Run) {
		if v := run.Version(job, number); v != nil {
			index, evaluation = v.Created, v.Evaluation
		}
	})
	return index, evaluation
}

// PolicyID returns the ID of a scaling policy. It is a function of its target
// and the run or, in a resident engine, the node.
func (t *Tracker) PolicyID(target ...string) string {
	seed := t.node
	if !t.engine.Resident() {
		seed = slices.Min(append(slices.Collect(maps.Values(t.engine.RunDirs())), "\xff"))
	}
	sum := sha256.Sum256([]byte(seed + "\x00" + strings.Join(target, "\x00")))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// Terminal reports whether a client status means that an allocation has ended.
func Terminal(clientStatus string) bool {
	return clientStatus == api.AllocClientStatusComplete || clientStatus == api.AllocClientStatusFailed
}
