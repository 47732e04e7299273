// Package fold computes the state of a run from its events. It is pure: equal
// events make equal states, wherever they come from. Views, records and
// decisions about the end of a run read this state.
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
	Allocs []*Alloc  // in order of appearance
	Latest time.Time // time of the latest event
	// Deployments are those of all jobs, Evaluations the latest ones, both in
	// order of appearance.
	Deployments []*Deployment
	Evaluations []*Evaluation
	// Unfixed describes errors in the files that the run follows, or is empty.
	Unfixed event.Notice

	specs map[string]*api.Job // by key
	// deployments are those of each job, in order of appearance.
	deployments map[string][]*Deployment
	kept        int // number of evaluations to keep
	versions    map[versionKey]*Version
	byID        map[string]*Alloc
	// heads counts the current first allocations of each name: a canary runs
	// next to another one.
	heads map[string]int
	twins bool // some name has several
	ended int  // number of ended allocations
}

// New returns the state of a run after past events. The jobs must be canonical.
func New(jobs []*api.Job, past ...event.Event) *Run {
	r := &Run{
		Jobs: jobs, specs: make(map[string]*api.Job), deployments: make(map[string][]*Deployment), kept: keptEvaluations,
		versions: make(map[versionKey]*Version), byID: make(map[string]*Alloc), heads: make(map[string]int),
	}
	for _, j := range jobs {
		if j.ID != nil {
			r.Specify(*j.ID, j)
		}
	}
	for _, e := range past {
		r.Apply(e)
	}
	return r
}

// Specify sets the job to which new allocations of a job with a key, and of its
// children, belong. They get their tasks from it. A nil job is forgotten.
func (r *Run) Specify(key string, job *api.Job) {
	if job == nil {
		delete(r.specs, key)
	} else {
		r.specs[key] = job
	}
}

// Apply adds an event. Output changes nothing.
func (r *Run) Apply(e event.Event) {
	r.Latest = e.Time
	switch body := e.Body.(type) {
	case event.Deployment:
		r.deployed(e, body)
	case event.Version:
		r.registered(e, body)
	case event.Evaluation:
		r.evaluated(e, body)
	case event.Notice:
		if body.Unfixed != "" {
			r.Unfixed = body
		} else if body.Fixed {
			r.Unfixed = event.Notice{}
		}
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
		r.judged(e, body)
	case event.Service:
		r.Alloc(e.Alloc).offers(body)
	case event.Check:
		r.Alloc(e.Alloc).checked(body)
	case event.Moved:
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
	a.Forsaken = a.Awaits() && body.Status == a.Status && body.Retry < 0
	a.Status, a.Description, a.Retry, a.Evaluation = body.Status, body.Description, body.Retry, body.Evaluation
	if old := r.byID[body.Replaces]; old != nil && old != a {
		a.Replaces, old.Replacement, old.Modified = old, a, Index(e)
	}
	if !a.counted {
		r.deploymentGrows(e) // by an allocation that is placed
	}
	r.count(a)
}

func (r *Run) judged(e event.Event, body event.AllocHealth) {
	a := r.Alloc(e.Alloc)
	if a.Healthy == nil || *a.Healthy != body.Healthy {
		r.deploymentGrows(e)
	}
	a.Healthy = &body.Healthy
}

// Find returns an allocation of the run by ID, or nil.
func (r *Run) Find(id string) *Alloc { return r.byID[id] }

// count counts an allocation that has appeared or ended.
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

// Task returns the task of an event, which must have an allocation.
func (r *Run) Task(e event.Event) *Task {
	a := r.Alloc(e.Alloc)
	if t := a.byName[e.Task]; t != nil {
		return t
	}
	return a.add(e.Task, nil)
}

// Alloc returns the state of an allocation, and adds it to the run if it is
// new.
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
	for _, key := range []string{id.Job, id.Parent} {
		if j := r.specs[key]; j != nil {
			return j.LookupTaskGroup(id.Group)
		}
	}
	return nil
}

// Final returns the allocations that nothing has replaced. If several have the
// same name, like canaries, the running ones count, or else the last one to
// end.
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
	return r.firstFailure(func(*Alloc) bool { return true })
}

// FirstFailureOf is like FirstFailure, for one job and its children.
func (r *Run) FirstFailureOf(job string) *Failure {
	return r.firstFailure(func(a *Alloc) bool { return a.Of(job) })
}

func (r *Run) firstFailure(of func(*Alloc) bool) *Failure {
	var first *Failure
	for _, a := range r.Allocs {
		if f := a.Failure; f != nil && of(a) && a.Failed() && !r.outlived(a.Last()) && (first == nil || f.Time.Before(first.Time)) {
			first = f
		}
	}
	return first
}

// Status returns how a job of an ended run has ended: complete, failed or
// stopped. A failure counts even if the job was stopped.
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

// Expected returns how many allocations the jobs of the run have at a time.
func (r *Run) Expected() (n int) {
	for _, j := range r.Jobs {
		if j.IsPeriodic() || j.IsParameterized() {
			continue // the jobs that they launch come later
		}
		for _, g := range j.TaskGroups {
			n += Instances(j, g)
		}
	}
	return n
}

// Instances returns how many allocations of a group run at a time. This machine
// is the only node, so a group of a system job has one.
func Instances(j *api.Job, g *api.TaskGroup) int {
	if *j.Type == api.JobTypeSystem || *j.Type == api.JobTypeSysbatch {
		return min(*g.Count, 1)
	}
	return *g.Count
}
