// Package fold makes the state of a run of its events. It is pure: equal events
// make equal states, wherever they come from. What shows a run, keeps a record
// of it or decides about its end reads this state.
package fold

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Run is the state of a run: a fold over its events. It reads no clock and no
// output.
type Run struct {
	Jobs   []*api.Job
	Allocs []*Alloc  // by first appearance
	Latest time.Time // of the latest event
	// Deployments are those of all jobs, Evaluations the latest ones, each by
	// first appearance.
	Deployments []*Deployment
	Evaluations []*Evaluation

	versions map[versionKey]*Version
	byID     map[string]*Alloc
	// heads are the first allocations of each name: canaries run beside others.
	heads map[string]int
	twins bool // a name has several
	ended int  // allocations
}

// New returns the state of a run after the events of its past. Its jobs are
// canonical.
func New(jobs []*api.Job, past ...event.Event) *Run {
	r := &Run{
		Jobs: jobs, versions: make(map[versionKey]*Version), byID: make(map[string]*Alloc), heads: make(map[string]int),
	}
	for _, e := range past {
		r.Apply(e)
	}
	return r
}

// Apply folds an event in. Output changes nothing.
func (r *Run) Apply(e event.Event) {
	r.Latest = e.Time
	switch body := e.Body.(type) {
	case event.Deployment:
		r.deployed(e, body)
	case event.Version:
		r.registered(e, body)
	case event.Evaluation:
		r.evaluated(e, body)
	default:
		if e.Alloc != nil {
			r.applyToAlloc(e)
		}
	}
}

func (r *Run) applyToAlloc(e event.Event) {
	switch body := e.Body.(type) {
	case event.TaskEvent:
		r.Task(e).happened(e.Time, body.TaskEvent)
	case event.TaskState:
		r.Task(e).changed(e.Time, body)
	case event.AllocStatus:
		r.became(e, body)
	case event.AllocHealth:
		r.Alloc(e.Alloc).Healthy = &body.Healthy
	case event.Service:
		r.Alloc(e.Alloc).offers(body)
	case event.Check:
		r.Alloc(e.Alloc).checked(body)
	default:
		return
	}
	a := r.Alloc(e.Alloc)
	a.Modified = Index(e)
	if a.Created == 0 {
		a.Created = a.Modified
	}
}

func (r *Run) became(e event.Event, body event.AllocStatus) {
	a := r.Alloc(e.Alloc)
	a.Status, a.Description, a.Retry, a.Evaluation = body.Status, body.Description, body.Retry, body.Evaluation
	if old := r.byID[body.Replaces]; old != nil && old != a {
		a.Replaces, old.Replacement, old.Modified = old, a, Index(e)
	}
	r.count(a)
}

// Find returns what is known of an allocation; nil if it is not part of the run.
func (r *Run) Find(id string) *Alloc { return r.byID[id] }

// count takes in that an allocation is there, or has ended.
func (r *Run) count(a *Alloc) {
	if !a.counted {
		a.counted = true
		if a.Replaces == nil {
			r.heads[a.Name]++
			r.twins = r.twins || r.heads[a.Name] > 1
		}
	}
	if a.ended == 0 && a.Ended() {
		r.ended++
		a.ended = r.ended
	}
}

// Task returns what is known of the task that an event is about, which must
// have an allocation.
func (r *Run) Task(e event.Event) *Task {
	a := r.Alloc(e.Alloc)
	if t := a.byName[e.Task]; t != nil {
		return t
	}
	return a.add(e.Task, nil)
}

// Alloc returns what is known of an allocation, which from now on is part of the
// run.
func (r *Run) Alloc(id *event.Alloc) *Alloc {
	if a := r.byID[id.ID]; a != nil {
		return a
	}
	a := &Alloc{Alloc: id, Status: api.AllocClientStatusPending, Retry: -1, byName: make(map[string]*Task)}
	if g := r.group(id); g != nil {
		for _, t := range g.Tasks {
			a.add(t.Name, t)
		}
	}
	r.byID[id.ID] = a
	r.Allocs = append(r.Allocs, a)
	return a
}

func (a *Alloc) add(name string, spec *api.Task) *Task {
	t := &Task{Alloc: a, Name: name, TaskState: event.TaskState{State: "pending"}, spec: spec}
	a.Tasks = append(a.Tasks, t)
	a.byName[name] = t
	return t
}

func (r *Run) group(id *event.Alloc) *api.TaskGroup {
	for _, j := range r.Jobs {
		if id.Of(*j.ID) {
			return j.LookupTaskGroup(id.Group)
		}
	}
	return nil
}

// Final returns the allocations that nothing has replaced. Of those that had
// one name beside each other, as canaries do, the ones that live count or else
// the last to end.
func (r *Run) Final() []*Alloc {
	var final []*Alloc
	for _, a := range r.Allocs {
		if a.Replacement == nil && !r.outlived(a) {
			final = append(final, a)
		}
	}
	return final
}

func (r *Run) outlived(a *Alloc) bool {
	return r.twins && a.ended > 0 && slices.ContainsFunc(r.Allocs, func(b *Alloc) bool {
		return b.Name == a.Name && b.Replacement == nil && (b.ended == 0 || b.ended > a.ended)
	})
}

// FirstFailure returns the earliest failure that counts, or nil.
func (r *Run) FirstFailure() *Failure {
	var first *Failure
	for _, a := range r.Allocs {
		if f := a.Failure; f != nil && a.Failed() && !r.outlived(a.Last()) && (first == nil || f.Time.Before(first.Time)) {
			first = f
		}
	}
	return first
}

// Status is how a job of a run that is over has ended: complete, failed or
// stopped. A failure counts although the job was stopped.
func (r *Run) Status(job string, stopped bool) string {
	for _, a := range r.Final() {
		if a.Of(job) && a.Status == api.AllocClientStatusFailed {
			return a.Status
		}
	}
	if stopped {
		return "stopped"
	}
	return api.AllocClientStatusComplete
}

// Expected is how many allocations the jobs of the run have at a time.
func (r *Run) Expected() (n int) {
	for _, j := range r.Jobs {
		if j.IsPeriodic() || j.IsParameterized() {
			continue // the jobs they launch come later
		}
		for _, g := range j.TaskGroups {
			n += Instances(j, g)
		}
	}
	return n
}

// Instances is how many allocations of a group run at a time: this machine is
// the only node, so a group of a system job has one.
func Instances(j *api.Job, g *api.TaskGroup) int {
	if *j.Type == api.JobTypeSystem || *j.Type == api.JobTypeSysbatch {
		return min(*g.Count, 1)
	}
	return *g.Count
}
