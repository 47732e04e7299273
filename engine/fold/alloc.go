package fold

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Alloc is the state of an allocation.
type Alloc struct {
	*event.Alloc
	Status, Description string
	Replaces            *Alloc        // the failed allocation that this one replaces
	Replacement         *Alloc        // nil while there is none
	Retry               time.Duration // until a failed one is replaced; negative if it is not
	Forsaken            bool          // it was to be replaced, but its deployment has failed
	Tasks               []*Task       // in the order of the job file
	ended               int           // it was the n-th to end; 0: still running
	Failure             *Failure      // the first one; nil while there is none
	Healthy             *bool         // nil before there is a verdict
	Evaluation          string        // ID of the evaluation that placed it
	Services            []event.Service
	Checks              []event.Check // latest result of each check
	Created, Modified   uint64        // indexes

	byName  map[string]*Task
	counted bool
}

// Failure is the moment when a task of an allocation failed for good.
type Failure struct {
	Task    *Task
	Time    time.Time
	Waiting []Wait // tasks that had not run yet, and why
}

// Last returns the allocation at the end of a chain of replacements.
func (a *Alloc) Last() *Alloc {
	for a.Replacement != nil {
		a = a.Replacement
	}
	return a
}

// Replacements returns how many allocations this one has replaced, directly and
// indirectly.
func (a *Alloc) Replacements() (n int) {
	for ; a.Replaces != nil; a = a.Replaces {
		n++
	}
	return n
}

// Ended reports whether the allocation is complete or has failed.
func (a *Alloc) Ended() bool {
	return a.Status == api.AllocClientStatusComplete || a.Status == api.AllocClientStatusFailed
}

// Stopped reports whether the allocation is complete because it was stopped.
func (a *Alloc) Stopped() bool {
	return a.Status == api.AllocClientStatusComplete && slices.ContainsFunc(a.Tasks, (*Task).Stopped)
}

// Awaits reports whether the allocation has ended and will be replaced.
func (a *Alloc) Awaits() bool { return a.Ended() && a.Retry >= 0 && a.Replacement == nil }

// FailingCheck is a check that keeps allocations from being healthy.
type FailingCheck struct {
	event.Check
	Allocs []*Alloc // where it did not pass
}

// FailingChecks returns the checks that do not pass in allocations whose
// deployment waits for them or has failed. Each check appears once.
func (r *Run) FailingChecks() (failing []*FailingCheck) {
	for _, a := range r.Final() {
		d := r.Deployment(a.Job)
		if d == nil || d.Status == api.DeploymentStatusSuccessful || a.Healthy != nil && *a.Healthy {
			continue
		}
		for _, c := range a.Checks {
			i := slices.IndexFunc(failing, func(f *FailingCheck) bool {
				return f.Service == c.Service && f.Check.Check == c.Check && f.Allocs[0].Job == a.Job
			})
			switch {
			case c.Status == "success":
			case i < 0:
				failing = append(failing, &FailingCheck{c, []*Alloc{a}})
			default:
				failing[i].Allocs = append(failing[i].Allocs, a)
			}
		}
	}
	return failing
}

// offers records that a service was registered or deregistered.
func (a *Alloc) offers(s event.Service) {
	a.Services = slices.DeleteFunc(a.Services, func(o event.Service) bool { return o.ID == s.ID })
	if s.Registered {
		a.Services = append(a.Services, s)
	}
}

// checked records the result of a check.
func (a *Alloc) checked(c event.Check) {
	for i, o := range a.Checks {
		if o.Service == c.Service && o.Check == c.Check {
			a.Checks[i] = c
			return
		}
	}
	a.Checks = append(a.Checks, c)
}

// Failed reports whether the allocation counts as failed: it failed, and so did
// every replacement.
func (a *Alloc) Failed() bool { return a.Last().Status == api.AllocClientStatusFailed }
