package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Job is a job of a cluster that is to be followed.
type Job struct {
	*api.Job // as the cluster has it
	Server   *client.Server
	// EvalID is the evaluation of its registration, empty when that is past or
	// there is none: before it is complete the job may still look dead.
	EvalID string
	// Over are the allocations, and the jobs in its name, that had ended before;
	// they are left out.
	Over map[string]bool
}

// Launches reports whether others run in the job's name.
func (j *Job) Launches() bool { return j.IsPeriodic() || j.IsParameterized() }

// LeaveOutEnded leaves out what of the job has ended by now.
func (j *Job) LeaveOutEnded(ctx context.Context) error {
	allocs, _, err := j.Server.Allocations(ctx, *j.ID, 0)
	if err != nil {
		return err
	}
	for _, s := range allocs {
		j.Over[s.ID] = client.Ended(s)
	}
	if !j.Launches() {
		return nil
	}
	children, _, err := j.Server.Children(ctx, *j.ID, 0)
	for _, s := range children {
		j.Over[s.ID] = s.Status == dead
	}
	return err
}

// gone is the status of a job that is no more, beside those of Nomad.
const gone = "gone"

// dead is Nomad's status of a job of which nothing runs or will.
const dead = "dead"

// followed is a job that is followed.
type followed struct {
	Job
	parent string // ID of the job in whose name it runs

	mu  sync.Mutex
	now snapshot

	known      map[string]*allocation
	told       map[string]bool  // what was said of placements
	deployment event.Deployment // as it was told
	ended      bool
}

// snapshot is what a server says of a job.
type snapshot struct {
	allocs     []*api.AllocationListStub
	evals      []*api.Evaluation
	deployment *api.Deployment
	status     string
	children   []*api.JobListStub
}

func newFollowed(j Job, parent string) *followed {
	return &followed{Job: j, parent: parent, known: map[string]*allocation{}, told: map[string]bool{}}
}

// question asks about a job and notes the answer. It waits for a change after an
// index.
type question func(ctx context.Context, after uint64) (index uint64, err error)

// ask returns a question, and write notes its answer: the zero value of what the
// server may lack, and does.
func ask[T any](f *followed, lack bool, what func(ctx context.Context, job string, after uint64) (T, uint64, error), write func(*snapshot, T)) question {
	return func(ctx context.Context, after uint64) (uint64, error) {
		answer, index, err := what(ctx, *f.ID, after)
		if lack && client.Missing(err) {
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

// questions are all that is asked about the job.
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

// refresh asks everything as it is now.
func (f *followed) refresh(ctx context.Context) error {
	for _, ask := range f.questions() {
		if _, err := ask(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// tell is called with what has happened to an allocation.
type tell func(s *api.AllocationListStub, a *event.Alloc, n news)

// look tells what is new of the allocations, in the order of its times.
func (f *followed) look(ctx context.Context, tell tell) {
	now := f.snapshot()
	stubs := slices.DeleteFunc(slices.Clone(now.allocs), func(s *api.AllocationListStub) bool { return f.Over[s.ID] })
	slices.SortStableFunc(stubs, func(a, b *api.AllocationListStub) int { return int(a.CreateIndex) - int(b.CreateIndex) })
	before := predecessors(stubs)
	type item struct {
		news
		stub  *api.AllocationListStub
		alloc *event.Alloc
	}
	var all []item
	for _, s := range stubs {
		var of []news
		a := f.known[s.ID]
		if a == nil {
			a = newAllocation(s, f.parent, before[s.ID])
			f.known[s.ID] = a
			of = append(of, a.begun(s))
		}
		of = append(of, a.happened(s)...)
		o := outlook{decided: true, retry: -1}
		if s.ClientStatus == api.AllocClientStatusFailed && a.status.Status != s.ClientStatus {
			s, o = f.foresee(ctx, s, a)
		}
		if o.decided { // else its evaluation will be complete soon, and wake us
			of = append(of, a.became(s, o.retry)...)
		}
		for i, n := range of {
			if i > 0 && n.at.Before(of[i-1].at) { // by another clock
				of[i].at, n.at = of[i-1].at, of[i-1].at
			}
			all = append(all, item{n, s, a.Alloc})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return a.at.Compare(b.at) })
	for _, i := range all {
		tell(i.stub, i.alloc, i.news)
	}
}

// foresee tells what becomes of an allocation that has failed, with what is
// known of it by then.
func (f *followed) foresee(ctx context.Context, s *api.AllocationListStub, a *allocation) (*api.AllocationListStub, outlook) {
	if a.failedAt == 0 {
		a.failedAt = s.ModifyIndex
	}
	var policy *api.ReschedulePolicy
	if g := f.LookupTaskGroup(s.TaskGroup); g != nil {
		policy = g.ReschedulePolicy
	}
	evals, _, err := f.Server.Evaluations(ctx, *f.ID, 0)
	if err != nil {
		return s, outlook{decided: true, retry: -1} // the watching tells of the error
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

// notices returns what is new about placements.
func (f *followed) notices() (lines []string) {
	for _, e := range f.snapshot().evals {
		for _, line := range Unplaced(e.JobID, e.FailedTGAllocs) {
			if !f.told[line] {
				f.told[line] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// deployed returns what is new about the deployment of this version of the job:
// its state, and what is said of one that goes on, such as that its canaries
// wait to be promoted.
func (f *followed) deployed() (state *event.Deployment, word string) {
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

// over reports whether nothing of the job runs, or will run, by what is known.
func (f *followed) over() bool {
	now := f.snapshot()
	if now.status != dead && now.status != gone {
		return false
	}
	registered := func(e *api.Evaluation) bool { return e.ID == f.EvalID && e.Status != api.EvalStatusPending }
	if f.EvalID != "" && now.status == dead && !slices.ContainsFunc(now.evals, registered) {
		return false
	}
	return !slices.ContainsFunc(now.allocs, func(s *api.AllocationListStub) bool {
		a := f.known[s.ID]
		return !f.Over[s.ID] && (a == nil || !client.Ended(s) || a.status.Status != s.ClientStatus)
	})
}
