package fold

import (
	"slices"

	"taskrun/engine/leaf/event"
)

// FirstIndex is the index of everything that has not changed since the run
// began. It is not 0, because clients send it back, and 0 means not to wait.
const FirstIndex = 1

// Index returns the index of the change that an event reports.
func Index(e event.Event) uint64 { return FirstIndex + e.Seq }

// Topic identifies objects that share an index: those of a table, or those with
// one key.
type Topic struct {
	Table Table
	Key   string
}

// Table is a kind of object.
type Table uint8

// The tables. Keys are IDs of the table's objects or, for names ending in
// OfJob, of jobs.
const (
	Static Table = iota // never changes
	Jobs
	Allocations
	AllocationsOfJob
	Deployments
	DeploymentsOfJob
	Evaluations
	EvaluationsOfJob
	ScaleOfJob // counts and scaling events
	Services   // by name
	Variables  // by path, like jobs by ID
	Namespaces
	NodePools
	Scheduler
	Nodes
	HostVolumes
)

// tables are the tables of the registry.
var tables = map[event.Table]Table{
	event.Namespaces:  Namespaces,
	event.NodePools:   NodePools,
	event.Scheduler:   Scheduler,
	event.Nodes:       Nodes,
	event.HostVolumes: HostVolumes,
}

// Indexes holds the indexes of topics. Like Run, it is a fold over events.
type Indexes struct {
	Now       uint64
	of        map[Topic]uint64
	forgotten uint64 // index of the last Forgotten event
	floor     uint64 // of topics that stand for several objects
}

// NewIndexes returns the indexes before the first event.
func NewIndexes() *Indexes {
	return &Indexes{Now: FirstIndex, of: map[Topic]uint64{}, forgotten: FirstIndex}
}

// Of returns the index of a topic. A topic without an index of its own has that
// of the last forgotten object, so that no query waits for an object that is
// gone.
func (x *Indexes) Of(t Topic) uint64 {
	index, ok := x.of[t]
	switch {
	case !ok:
		return x.forgotten
	case t.single():
		return index
	}
	return max(index, x.floor)
}

// single reports whether a topic is an object with an index of its own.
func (t Topic) single() bool {
	return t.Key != "" && slices.Contains([]Table{Jobs, Allocations, Deployments, Evaluations}, t.Table)
}

// Rise lets the indexes be no lower than the given one, except those of single
// objects: an earlier engine may have given out indexes that were not stored.
func (x *Indexes) Rise(index uint64) {
	x.Now = max(x.Now, index)
	x.floor, x.forgotten = max(x.floor, index), max(x.forgotten, index)
}

// Apply sets the index of everything that an event changes. It calls changed,
// if not nil, with each topic.
func (x *Indexes) Apply(e event.Event, changed func(Topic)) {
	index := Index(e)
	x.Now = max(x.Now, index)
	var change func(Table, string)
	change = func(table Table, key string) {
		for _, t := range [...]Topic{{table, ""}, {table, key}} {
			x.of[t] = max(x.of[t], index)
			if changed != nil {
				changed(t)
			}
		}
		if table == Jobs {
			change(ScaleOfJob, key) // it names the index of the job
		}
	}
	touch := func(table Table, key string) { // unless it was forgotten
		if _, known := x.of[Topic{table, key}]; known {
			change(table, key)
		}
	}
	switch b := e.Body.(type) {
	case event.Deployment:
		change(Deployments, b.ID)
		change(DeploymentsOfJob, b.Job)
		change(Jobs, b.Job)
		change(AllocationsOfJob, b.Job) // canaries that have failed are stopped with it
		change(Allocations, "")
	case event.Version:
		change(Jobs, b.Job)
	case event.Scaled:
		change(ScaleOfJob, b.Job)
	case event.Notice:
		if b.Job != "" {
			change(Jobs, b.Job) // clients that follow the job read its history
		}
	case event.Evaluation:
		change(Evaluations, b.ID)
		change(EvaluationsOfJob, b.Job)
		if b.Trigger == event.JobDeregister {
			change(Jobs, b.Job) // a job without allocations has no other event
		}
		if b.Trigger == event.AllocStop {
			touch(Allocations, b.Alloc) // an allocation that has ended has no other event
			touch(AllocationsOfJob, b.Job)
		}
	case event.Variable:
		key := event.JobKey(b.Namespace, b.Path)
		change(Variables, key)
		if b.Deleted {
			x.forget(Topic{Variables, key})
		}
	case event.Object:
		table, key := tables[b.Table], b.Key
		change(table, key)
		if b.Deleted && key != "" {
			x.forget(Topic{table, key})
		}
	case event.Forgotten:
		if e.Alloc != nil {
			change(Allocations, e.Alloc.ID)
			change(AllocationsOfJob, e.Alloc.Job)
			change(ScaleOfJob, e.Alloc.Job)
			touch(Jobs, e.Alloc.Job) // its summary counts the allocation
			x.forget(Topic{Allocations, e.Alloc.ID})
		}
		if len(b.Versions) > 0 {
			touch(Jobs, b.Job)
			touch(DeploymentsOfJob, b.Job) // each belongs to a version
			change(Deployments, "")
		}
		if b.Gone {
			change(Evaluations, "") // they lose what the job said of them
			for _, table := range []Table{Jobs, ScaleOfJob, DeploymentsOfJob, EvaluationsOfJob, AllocationsOfJob} {
				change(table, b.Job)
				x.forget(Topic{table, b.Job})
			}
		}
		for _, id := range b.Evaluations {
			change(Evaluations, id)
			x.forget(Topic{Evaluations, id})
		}
		if len(b.Evaluations) > 0 {
			change(EvaluationsOfJob, b.Job)
			x.forget(Topic{EvaluationsOfJob, b.Job}) // the job may be gone, too
		}
	case event.TaskEvent, event.TaskState, event.AllocStatus, event.AllocHealth, event.Service, event.Check, event.Moved:
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
		change(Deployments, "") // their counts of placed allocations change
		change(DeploymentsOfJob, e.Alloc.Job)
		if e.Alloc.Parent != "" {
			change(Jobs, e.Alloc.Parent)
		}
		if b.Replaces != "" {
			change(Allocations, b.Replaces)
		}
	}
}

// forget drops the index of a forgotten object.
func (x *Indexes) forget(t Topic) {
	delete(x.of, t)
	x.forgotten = x.Now
}
