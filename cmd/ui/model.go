package ui

import (
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
)

// keptEvents is how many events of a task are kept, as in Nomad.
const keptEvents = 10

// Model is what is known of a run: a fold over its events. It reads no clock
// and no output.
type Model struct {
	Allocs []*Alloc  // by first appearance
	Latest time.Time // of the latest event

	jobs []*api.Job
	byID map[string]*Alloc
	// heads are the first allocations of each name: canaries run beside others.
	heads map[string]int
	twins bool // a name has several
	ended int  // allocations
}

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

// Task is what is known of a task.
type Task struct {
	Alloc    *Alloc
	Name     string
	State    string // pending, running or dead
	Failed   bool
	Restarts uint64
	ExitCode *int // of the latest end

	Started  time.Time // first
	Running  time.Time // since when, if it is running
	Finished time.Time // when it became dead
	Events   []Happened

	spec *api.Task // nil for a task that is in no job
}

// Happened is a task event and its time.
type Happened struct {
	Time time.Time
	*api.TaskEvent
}

// Failure is the moment when a task of an allocation failed for good.
type Failure struct {
	Task    *Task
	Time    time.Time
	Waiting []Wait // who had not run yet, and why
}

// NewModel returns what is known before a run: its jobs, canonicalised.
func NewModel(jobs []*api.Job) *Model {
	return &Model{jobs: jobs, byID: make(map[string]*Alloc), heads: make(map[string]int)}
}

// Apply folds an event in. Output changes nothing.
func (m *Model) Apply(e event.Event) {
	m.Latest = e.Time
	if e.Alloc == nil {
		return
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		m.task(e).happened(e.Time, body.TaskEvent)
	case event.TaskState:
		m.task(e).changed(e.Time, body)
	case event.AllocStatus:
		a := m.alloc(e.Alloc)
		a.Status, a.Description, a.Retry = body.Status, body.Description, body.Retry
		if old := m.byID[body.Replaces]; old != nil && old != a {
			a.Replaces, old.Replacement = old, a
		}
		m.count(a)
	}
}

// count takes in that an allocation is there, or has ended.
func (m *Model) count(a *Alloc) {
	if !a.counted {
		a.counted = true
		if a.Replaces == nil {
			m.heads[a.Name]++
			m.twins = m.twins || m.heads[a.Name] > 1
		}
	}
	if a.ended == 0 && (a.Status == api.AllocClientStatusComplete || a.Status == api.AllocClientStatusFailed) {
		m.ended++
		a.ended = m.ended
	}
}

// task returns what is known of the task that an event is about, which must
// have an allocation.
func (m *Model) task(e event.Event) *Task {
	a := m.alloc(e.Alloc)
	if t := a.byName[e.Task]; t != nil {
		return t
	}
	return a.add(e.Task, nil)
}

func (m *Model) alloc(id *event.Alloc) *Alloc {
	if a := m.byID[id.ID]; a != nil {
		return a
	}
	a := &Alloc{Alloc: id, Status: api.AllocClientStatusPending, Retry: -1, byName: make(map[string]*Task)}
	if g := m.group(id); g != nil {
		for _, t := range g.Tasks {
			a.add(t.Name, t)
		}
	}
	m.byID[id.ID] = a
	m.Allocs = append(m.Allocs, a)
	return a
}

func (a *Alloc) add(name string, spec *api.Task) *Task {
	t := &Task{Alloc: a, Name: name, State: "pending", spec: spec}
	a.Tasks = append(a.Tasks, t)
	a.byName[name] = t
	return t
}

func (m *Model) group(id *event.Alloc) *api.TaskGroup {
	for _, j := range m.jobs {
		if id.Of(*j.ID) {
			return j.LookupTaskGroup(id.Group)
		}
	}
	return nil
}

func (t *Task) happened(at time.Time, e *api.TaskEvent) {
	if len(t.Events) == keptEvents {
		t.Events = slices.Delete(t.Events, 0, 1)
	}
	t.Events = append(t.Events, Happened{at, e})
	if e.Type == api.TaskTerminated {
		if code, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
			t.ExitCode = &code
		}
	}
}

func (t *Task) changed(at time.Time, s event.TaskState) {
	if s.State == "running" && (t.State != "running" || s.Restarts != t.Restarts) {
		t.Running = at
		if t.Started.IsZero() {
			t.Started = at
		}
	}
	if s.State == "dead" && t.State != "dead" {
		t.Finished = at
	}
	t.State, t.Restarts = s.State, s.Restarts
	if s.ExitCode != nil {
		t.ExitCode = s.ExitCode
	}
	if s.Failed && !t.Failed {
		t.Failed = true
		if t.Alloc.Failure == nil {
			t.Alloc.Failure = &Failure{Task: t, Time: at, Waiting: waiting(t.Alloc)}
		}
	}
}

// Took is how long the task has run, from its first start to its end or to a
// time, restarts included; 0 when it never started.
func (t *Task) Took(now time.Time) time.Duration {
	switch {
	case t.Started.IsZero():
		return 0
	case t.Finished.IsZero():
		return now.Sub(t.Started)
	}
	return t.Finished.Sub(t.Started)
}

// stopping reports whether the task was told to end since its latest start.
func (t *Task) stopping() bool {
	for _, e := range slices.Backward(t.Events) {
		switch e.Type {
		case api.TaskKilling, api.TaskRestartSignal:
			return true
		case api.TaskStarted:
			return false
		}
	}
	return false
}

// Poststop reports whether the task runs only when all others have ended.
func (t *Task) Poststop() bool {
	return t.spec != nil && t.spec.Lifecycle != nil && t.spec.Lifecycle.Hook == api.TaskLifecycleHookPoststop
}

// Last returns the allocation at the end of a chain of replacements.
func (a *Alloc) Last() *Alloc {
	for a.Replacement != nil {
		a = a.Replacement
	}
	return a
}

// replacements is how many allocations ran in this place before.
func (a *Alloc) replacements() (n int) {
	for ; a.Replaces != nil; a = a.Replaces {
		n++
	}
	return n
}

// Failed reports whether the allocation counts as failed: it has failed, and
// so has whatever ran in its place.
func (a *Alloc) Failed() bool { return a.Last().Status == api.AllocClientStatusFailed }

// Final returns the allocations that nothing has replaced. Of those that had
// one name beside each other, as canaries do, the ones that live count or else
// the last to end.
func (m *Model) Final() []*Alloc {
	var final []*Alloc
	for _, a := range m.Allocs {
		if a.Replacement == nil && !m.outlived(a) {
			final = append(final, a)
		}
	}
	return final
}

func (m *Model) outlived(a *Alloc) bool {
	return m.twins && a.ended > 0 && slices.ContainsFunc(m.Allocs, func(b *Alloc) bool {
		return b.Name == a.Name && b.Replacement == nil && (b.ended == 0 || b.ended > a.ended)
	})
}

// FirstFailure returns the earliest failure that counts, or nil.
func (m *Model) FirstFailure() *Failure {
	var first *Failure
	for _, a := range m.Allocs {
		if f := a.Failure; f != nil && a.Failed() && !m.outlived(a.Last()) && (first == nil || f.Time.Before(first.Time)) {
			first = f
		}
	}
	return first
}
