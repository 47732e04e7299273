package fold

import (
	"slices"
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
	Healthy             *bool         // nil before there is a verdict
	Evaluation          string        // ID of the one because of which it was placed
	Services            []event.Service
	Checks              []event.Check // what each says now
	Created, Modified   uint64        // indexes

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

// Ended reports whether the allocation is complete or has failed.
func (a *Alloc) Ended() bool {
	return a.Status == api.AllocClientStatusComplete || a.Status == api.AllocClientStatusFailed
}

// Stopped reports whether the allocation is complete because it was told to end.
func (a *Alloc) Stopped() bool {
	return a.Status == api.AllocClientStatusComplete && slices.ContainsFunc(a.Tasks, (*Task).Stopped)
}

// Awaits reports whether another allocation is yet to run in its place.
func (a *Alloc) Awaits() bool { return a.Ended() && a.Retry >= 0 && a.Replacement == nil }

// FailingCheck is a check that keeps allocations from being healthy.
type FailingCheck struct {
	event.Check
	Allocs []*Alloc // in which it did not pass
}

// FailingChecks returns the checks that do not pass in allocations whose
// deployment waits for them or has failed, each once.
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

// offers takes in that a service is registered, or is no more.
func (a *Alloc) offers(s event.Service) {
	a.Services = slices.DeleteFunc(a.Services, func(o event.Service) bool { return o.ID == s.ID })
	if s.Registered {
		a.Services = append(a.Services, s)
	}
}

// checked takes in what a check says.
func (a *Alloc) checked(c event.Check) {
	for i, o := range a.Checks {
		if o.Service == c.Service && o.Check == c.Check {
			a.Checks[i] = c
			return
		}
	}
	a.Checks = append(a.Checks, c)
}

// Failed reports whether the allocation counts as failed: it has failed, and
// so has whatever ran in its place.
func (a *Alloc) Failed() bool { return a.Last().Status == api.AllocClientStatusFailed }
