package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// followed is a job being followed.
type followed struct {
	Job
	parent string // ID of the job that launched it

	mu  sync.Mutex
	now snapshot

	known      map[string]*allocation
	said       map[string]bool  // published notices about placements
	deployment event.Deployment // as published
	deadSince  time.Time        // see deadFor
	ended      bool
}

// snapshot is a server's data about a job.
type snapshot struct {
	allocs     []*api.AllocationListStub
	evals      []*api.Evaluation
	deployment *api.Deployment
	status     string
	children   []*api.JobListStub
}

func newFollowed(j Job, parent string) *followed {
	return &followed{Job: j, parent: parent, known: map[string]*allocation{}, said: map[string]bool{}}
}

// question is a query about a job. It waits for a change after an index, and
// stores the answer.
type question func(ctx context.Context, after uint64) (index uint64, err error)

// ask returns a question. write stores the answer; with missing, the answer to
// a missing object is the zero value.
func ask[T any](f *followed, missing bool, query func(ctx context.Context, job string, after uint64) (T, uint64, error), write func(*snapshot, T)) question {
	return func(ctx context.Context, after uint64) (uint64, error) {
		answer, index, err := query(ctx, *f.ID, after)
		if missing && client.Missing(err) {
			index, err = after, nil
		}
		if err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			write(&f.now, answer)
		}
		return index, err
	}
}

func (f *followed) questions() []question {
	all := []question{
		ask(f, false, f.Server.Allocations, func(s *snapshot, list []*api.AllocationListStub) { s.allocs = list }),
		ask(f, false, f.Server.Evaluations, func(s *snapshot, list []*api.Evaluation) { s.evals = list }),
		ask(f, true, f.Server.Info, func(s *snapshot, j *api.Job) {
			if s.status = gone; j != nil {
				s.status = *j.Status
			}
		}),
	}
	if *f.Type == api.JobTypeService {
		all = append(all, ask(f, true, f.Server.Deployment, func(s *snapshot, d *api.Deployment) { s.deployment = d }))
	}
	if f.Launches() {
		all = append(all, ask(f, false, f.Server.Children, func(s *snapshot, list []*api.JobListStub) { s.children = list }))
	}
	return all
}

func (f *followed) snapshot() snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *followed) refresh(ctx context.Context) error {
	for _, ask := range f.questions() {
		if _, err := ask(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// change is a new event of an allocation, with the server's description of the
// allocation.
type change struct {
	event.Event
	stub *api.AllocationListStub
}

// ends reports whether a task writes nothing more until it starts again.
func (c change) ends() bool { return c.entersState(dead) || c.isEvent(api.TaskTerminated) }

func (c change) entersState(name string) bool {
	state, ok := c.Body.(event.TaskState)
	return ok && state.State == name
}

func (c change) isEvent(kind string) bool {
	e, ok := c.Body.(event.TaskEvent)
	return ok && e.Type == kind
}

// changes returns the new events of the allocations, in the order of their times.
func (f *followed) changes(ctx context.Context) (all []change) {
	now := f.snapshot()
	stubs := slices.DeleteFunc(slices.Clone(now.allocs), func(s *api.AllocationListStub) bool { return f.Over[s.ID] })
	slices.SortStableFunc(stubs, func(a, b *api.AllocationListStub) int { return int(a.CreateIndex) - int(b.CreateIndex) })
	before := predecessors(stubs)
	for _, s := range stubs {
		var events []event.Event
		a := f.known[s.ID]
		if a == nil {
			a = newAllocation(s, f.parent, before[s.ID])
			f.known[s.ID] = a
			events = append(events, a.first(s))
		}
		events = append(events, a.taskEvents(s)...)
		o := outlook{decided: true, retry: -1}
		if s.ClientStatus == api.AllocClientStatusFailed && a.status.Status != s.ClientStatus {
			s, o = f.foresee(ctx, s, a)
		}
		if o.decided { // otherwise its evaluation will soon be complete, and wake Follow
			events = append(events, a.events(s, o.retry)...)
		}
		for i, e := range events {
			if i > 0 && e.Time.Before(events[i-1].Time) { // their clocks may differ
				e.Time = events[i-1].Time
				events[i] = e
			}
			all = append(all, change{e, s})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return a.Time.Compare(b.Time) })
	return all
}

// foresee returns what happens next to a failed allocation, and its current
// description.
func (f *followed) foresee(ctx context.Context, s *api.AllocationListStub, a *allocation) (*api.AllocationListStub, outlook) {
	a.failedAt = cmp.Or(a.failedAt, s.ModifyIndex)
	var policy *api.ReschedulePolicy
	if g := f.LookupTaskGroup(s.TaskGroup); g != nil {
		policy = g.ReschedulePolicy
	}
	evals, _, err := f.Server.Evaluations(ctx, *f.ID, 0)
	if err != nil {
		return s, outlook{decided: true, retry: -1} // the questions report the error
	}
	if o := foresee(s, a.failedAt, policy, evals, false); o.decided {
		return s, o
	}
	allocs, _, err := f.Server.Allocations(ctx, *f.ID, 0)
	if i := slices.IndexFunc(allocs, func(n *api.AllocationListStub) bool { return n.ID == s.ID }); err == nil && i >= 0 {
		s = allocs[i]
	}
	return s, foresee(s, a.failedAt, policy, evals, true)
}

// notices returns new messages about placements.
func (f *followed) notices() (lines []string) {
	for _, e := range f.snapshot().evals {
		for _, line := range Unplaced(e.JobID, e.FailedTGAllocs) {
			if !f.said[line] {
				f.said[line] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// latest returns the state of the job's latest deployment, or nil, as if it had been
// published.
func (f *followed) latest() *event.Deployment {
	d := f.snapshot().deployment
	if d == nil {
		return nil
	}
	f.deployment = eventOf(*f.ID, d)
	return &f.deployment
}

// deployed returns the news about the deployment of this version of the job:
// its state, or a message about a running one, for example that its canaries
// wait for their promotion.
func (f *followed) deployed() (state *event.Deployment, message string) {
	d := f.snapshot().deployment
	if d == nil || f.Version != nil && d.JobVersion < *f.Version {
		return nil, ""
	}
	now := eventOf(*f.ID, d)
	before := f.deployment
	f.deployment = now
	switch {
	case before.ID != now.ID || before.Status != now.Status:
		return &now, ""
	case before.Description != now.Description:
		return nil, fmt.Sprintf("job %s: %s", *f.ID, now.Description)
	}
	return nil, ""
}

// over reports whether the job runs nothing and will run nothing.
func (f *followed) over() bool {
	now := f.snapshot()
	if now.status != dead && now.status != gone {
		return false
	}
	registered := func(e *api.Evaluation) bool { return e.ID == f.EvalID && e.Status != api.EvalStatusPending }
	if f.EvalID != "" && now.status == dead && !slices.ContainsFunc(now.evals, registered) {
		return false
	}
	if d := now.deployment; now.status == dead && d != nil && d.Status == api.DeploymentStatusRunning && f.deadFor() < settleTime {
		return false // it is canceled soon after its job is stopped
	}
	return !slices.ContainsFunc(now.allocs, func(s *api.AllocationListStub) bool {
		a := f.known[s.ID]
		return !f.Over[s.ID] && (a == nil || !client.Ended(s) || f.lingers(s) || a.status.Status != s.ClientStatus)
	})
}

// lingerTime is how long a job that is dead waits for the tasks of its allocations.
const lingerTime = 30 * time.Second

// lingers reports whether tasks of an allocation that has ended may still change: an
// allocation has failed as soon as a task has, while others are being stopped, and
// before its poststop tasks start.
func (f *followed) lingers(s *api.AllocationListStub) bool {
	for _, t := range s.TaskStates {
		if t.State != dead {
			return f.deadFor() < lingerTime
		}
	}
	return false
}

// settleTime is how long a job that is dead waits for the end of its deployment.
const settleTime = 2 * time.Second

// deadFor returns the time since it was first called.
func (f *followed) deadFor() time.Duration {
	if f.deadSince.IsZero() {
		f.deadSince = time.Now()
	}
	return time.Since(f.deadSince)
}
