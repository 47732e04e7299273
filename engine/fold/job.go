package fold

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Deployment is the state of a deployment.
type Deployment struct {
	event.Deployment
	Changed           time.Time
	Created, Modified uint64 // indexes
}

// Version is the state of a version of a job.
type Version struct {
	event.Version
	Evaluation        string // ID of the evaluation that came with it, or empty
	Created, Modified uint64 // indexes
}

type versionKey struct {
	job    string
	number uint64
}

// Evaluation is a change that led to the placement of allocations.
type Evaluation struct {
	event.Evaluation
	Time     time.Time
	Index    uint64
	JobIndex uint64 // of the version of the job
}

// keptEvaluations is how many evaluations are kept unless KeepEvaluations says
// otherwise.
const keptEvaluations = 1000

// KeepEvaluations sets how many evaluations are kept.
func (r *Run) KeepEvaluations(n int) { r.kept = n }

func (r *Run) deployed(e event.Event, d event.Deployment) {
	of := r.deployments[d.Job]
	for _, known := range slices.Backward(of) {
		if known.ID == d.ID {
			known.Deployment, known.Changed, known.Modified = d, e.Time, Index(e)
			return
		}
	}
	added := &Deployment{d, e.Time, Index(e), Index(e)}
	r.Deployments, r.deployments[d.Job] = append(r.Deployments, added), append(of, added)
}

// deploymentGrows marks the deployment of an allocation, unless it has ended, as
// changed by an event of the allocation: its groups count what they have placed
// and the verdicts.
func (r *Run) deploymentGrows(e event.Event) {
	d := r.Deployment(e.Alloc.Job)
	if d == nil {
		return
	}
	switch d.Status {
	case api.DeploymentStatusRunning, api.DeploymentStatusPaused:
		d.Changed, d.Modified = e.Time, Index(e)
	}
}

func (r *Run) registered(e event.Event, v event.Version) {
	known := r.Version(v.Job, v.Number)
	if known == nil {
		known = &Version{Created: Index(e)}
		r.versions[versionKey{v.Job, v.Number}] = known
	}
	known.Version, known.Modified = v, Index(e)
}

func (r *Run) evaluated(e event.Event, v event.Evaluation) {
	if len(r.Evaluations) == r.kept {
		r.Evaluations = slices.Delete(r.Evaluations, 0, 1)
	}
	added, of := &Evaluation{v, e.Time, Index(e), FirstIndex}, r.Version(v.Job, v.Version)
	r.Evaluations = append(r.Evaluations, added)
	if of == nil {
		return
	}
	added.JobIndex = of.Created
	switch v.Trigger {
	case event.JobRegister, event.JobScaling, event.PeriodicJob:
		of.Evaluation = cmp.Or(of.Evaluation, v.ID)
	case event.JobDeregister, event.AllocFailure, event.AllocStop, event.DeploymentWatcher:
	}
}

// Deployment returns the latest deployment of a job, or nil.
func (r *Run) Deployment(job string) *Deployment {
	if of := r.deployments[job]; len(of) > 0 {
		return of[len(of)-1]
	}
	return nil
}

// DeploymentsOf returns the deployments of a job, oldest first. They are read
// only.
func (r *Run) DeploymentsOf(job string) []*Deployment { return r.deployments[job] }

// Version returns a version of a job, or nil.
func (r *Run) Version(job string, number uint64) *Version { return r.versions[versionKey{job, number}] }

// Surplus returns the oldest of the evaluations that of selects, which must go
// to make room for another one.
func (r *Run) Surplus(of func(*Evaluation) bool) (surplus []*Evaluation) {
	for _, e := range r.Evaluations {
		if len(surplus) == max(0, len(r.Evaluations)+1-r.kept) {
			break
		}
		if of(e) {
			surplus = append(surplus, e)
		}
	}
	return surplus
}

// Evaluation returns an evaluation by ID, or nil.
func (r *Run) Evaluation(id string) *Evaluation {
	for _, e := range slices.Backward(r.Evaluations) {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// Evaluated returns the latest evaluation with a given trigger of a job or of
// one of its allocations, or nil.
func (r *Run) Evaluated(job, alloc string, why event.Trigger) *Evaluation {
	for _, e := range slices.Backward(r.Evaluations) {
		if e.Job == job && e.Alloc == alloc && e.Trigger == why {
			return e
		}
	}
	return nil
}
