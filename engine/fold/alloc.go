package fold

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Alloc is what is known of an allocation.
type Alloc struct {
	*event.Alloc
	Status, Description string
	Replaces            *Alloc        // the failed allocation in whose place this one runs
	Replacement         *Alloc        // nil as long as there is none
	Retry               time.Duration // until a failed one is replaced; negative when it will not be
	Tasks               []*Task       // in the order of the job
	ended               int           // which one to end it was, from 1; 0: it has not
	Failure             *Failure      // the first; nil as long as there is none

	byName  map[string]*Task
	counted bool
}

// Failure is the moment when a task of an allocation failed for good.
type Failure struct {
	Task    *Task
	Time    time.Time
	Waiting []Wait // who had not run yet, and why
}

// Last returns the allocation at the end of a chain of replacements.
func (a *Alloc) Last() *Alloc {
	for a.Replacement != nil {
		a = a.Replacement
	}
	return a
}

// Replacements is how many allocations ran in this place before.
func (a *Alloc) Replacements() (n int) {
	for ; a.Replaces != nil; a = a.Replaces {
		n++
	}
	return n
}

// Failed reports whether the allocation counts as failed: it has failed, and
// so has whatever ran in its place.
func (a *Alloc) Failed() bool { return a.Last().Status == api.AllocClientStatusFailed }
