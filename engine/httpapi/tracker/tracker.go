// Package tracker asks the state of an engine what clients ask for besides the
// engine's objects, and makes Nomad's event stream of its events. It keeps
// nothing but the latest of that.
package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Alloc is what the engine's state tells of an allocation, besides the engine's
// own snapshot of it.
type Alloc struct {
	Created, Modified uint64 // indexes
	Next              string // ID of the allocation that has taken its place
	Awaited           bool   // another one will take its place
	Evaluation        string // ID of the one because of which it was placed
}

// Alloc returns what is known of an allocation.
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

// Deployment returns the indexes of a deployment, and when it changed last.
func (t *Tracker) Deployment(id string) (created, modified uint64, changed time.Time) {
	created, modified = fold.FirstIndex, fold.FirstIndex
	t.engine.State().Look(func(run *fold.Run) {
		for _, d := range run.Deployments {
			if d.ID == id {
				created, modified, changed = d.Created, d.Modified, d.Changed
			}
		}
	})
	return created, modified, changed
}

// Evaluations returns the evaluations that are known, oldest first.
func (t *Tracker) Evaluations() (list []*fold.Evaluation) {
	t.engine.State().Look(func(run *fold.Run) { list = slices.Clone(run.Evaluations) })
	return list
}

// Evaluated returns the ID and the index of the latest evaluation of a job, or of
// one of its allocations, that there is for a reason.
func (t *Tracker) Evaluated(job, alloc string, why event.Trigger) (id string, index uint64) {
	t.engine.State().Look(func(run *fold.Run) {
		if e := run.Evaluated(job, alloc, why); e != nil {
			id, index = e.ID, e.Index
		}
	})
	return id, index
}

// Version returns the index of a version of a job, and the ID of the evaluation
// with which it came.
func (t *Tracker) Version(job string, number uint64) (index uint64, evaluation string) {
	index = fold.FirstIndex
	t.engine.State().Look(func(run *fold.Run) {
		if v := run.Version(job, number); v != nil {
			index, evaluation = v.Created, v.Evaluation
		}
	})
	return index, evaluation
}

// PolicyID follows from what a policy is for, and from the run.
func (t *Tracker) PolicyID(target ...string) string {
	seed := slices.Min(append(slices.Collect(maps.Values(t.engine.RunDirs())), "\xff"))
	sum := sha256.Sum256([]byte(seed + "\x00" + strings.Join(target, "\x00")))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// Terminal reports whether a client status is that of an allocation that has
// ended.
func Terminal(clientStatus string) bool {
	return clientStatus == api.AllocClientStatusComplete || clientStatus == api.AllocClientStatusFailed
}
