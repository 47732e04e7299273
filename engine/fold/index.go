package fold

import "taskrun/engine/leaf/event"

// FirstIndex is that of what has not changed since the run began. It is not 0:
// clients send it back, and 0 means not to wait.
const FirstIndex = 1

// Index is that of the change that an event tells of.
func Index(e event.Event) uint64 { return FirstIndex + e.Seq }

// Topic names objects that have an index together: those of a table, or those
// that belong to one key.
type Topic struct {
	Table Table
	Key   string
}

// Table is a kind of objects.
type Table uint8

// The tables. Keys are IDs, of the table's objects or, where the name says so,
// of jobs.
const (
	Static Table = iota // what never changes
	Jobs
	Allocations
	AllocationsOfJob
	Deployments
	DeploymentsOfJob
	Evaluations
	EvaluationsOfJob
	ScaleOfJob // its counts and the orders to scale it
	Services   // by name
	Variables  // by path
)

// Indexes are the indexes of topics: a fold as well.
type Indexes struct {
	Now       uint64
	of        map[Topic]uint64
	forgotten uint64 // index at which something was forgotten last
}

// NewIndexes returns the indexes before anything has happened.
func NewIndexes() *Indexes {
	return &Indexes{Now: FirstIndex, of: map[Topic]uint64{}, forgotten: FirstIndex}
}

// Of returns the index of a topic. What has none of its own has that at which
// something was forgotten last, so that no query waits for what is gone.
func (x *Indexes) Of(t Topic) uint64 {
	if index, ok := x.of[t]; ok {
		return index
	}
	return x.forgotten
}

// Apply gives what an event changes its index. Changed, if it is not nil, is
// called with each topic.
func (x *Indexes) Apply(e event.Event, changed func(Topic)) {
	x.Now = Index(e)
	change := func(table Table, key string) {
		for _, t := range [...]Topic{{table, ""}, {table, key}} {
			x.of[t] = x.Now
			if changed != nil {
				changed(t)
			}
		}
	}
	switch b := e.Body.(type) {
	case event.Deployment:
		change(Deployments, b.ID)
		change(DeploymentsOfJob, b.Job)
		change(Jobs, b.Job)
	case event.Version:
		change(Jobs, b.Job)
		change(ScaleOfJob, b.Job)
	case event.Scaled:
		change(ScaleOfJob, b.Job)
	case event.Evaluation:
		change(Evaluations, b.ID)
		change(EvaluationsOfJob, b.Job)
		if b.Trigger == event.JobDeregister {
			change(Jobs, b.Job) // a job without allocations changes in no other way
			change(ScaleOfJob, b.Job)
		}
	case event.Variable:
		change(Variables, b.Path)
	case event.Forgotten:
		if e.Alloc != nil {
			change(Allocations, e.Alloc.ID)
			change(AllocationsOfJob, e.Alloc.Job)
			change(ScaleOfJob, e.Alloc.Job)
			x.forget(Topic{Allocations, e.Alloc.ID})
		}
		for _, id := range b.Evaluations {
			change(Evaluations, id)
			x.forget(Topic{Evaluations, id})
		}
	case event.TaskEvent, event.TaskState, event.AllocStatus, event.AllocHealth, event.Service, event.Check:
		change(Allocations, e.Alloc.ID)
		change(AllocationsOfJob, e.Alloc.Job)
		change(ScaleOfJob, e.Alloc.Job)
	}
	switch b := e.Body.(type) {
	case event.Service:
		change(Services, b.Name)
	case event.AllocHealth:
		change(Deployments, "")
		change(DeploymentsOfJob, e.Alloc.Job)
	case event.AllocStatus:
		change(Jobs, e.Alloc.Job)
		change(Deployments, "") // which count what they have placed
		change(DeploymentsOfJob, e.Alloc.Job)
		if e.Alloc.Parent != "" {
			change(Jobs, e.Alloc.Parent)
		}
		if b.Replaces != "" {
			change(Allocations, b.Replaces)
		}
	}
}

// forget drops the index of what is gone.
func (x *Indexes) forget(t Topic) {
	delete(x.of, t)
	x.forgotten = x.Now
}
