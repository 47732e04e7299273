// Package cluster follows jobs of a Nomad cluster as if they ran here: what
// becomes of their allocations turns into the events that a run of this machine
// has, and so does what their tasks write.
//
// It asks by blocking queries (https://developer.hashicorp.com/nomad/api-docs#blocking-queries).
// What a server says of an allocation holds the last ten events of each task,
// so that nothing is lost when a connection breaks; the event stream has no more
// to say, and forgets after a hundred events.
package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Run is what becomes of some jobs. Past, Registered and Follow are for one
// goroutine after another.
type Run struct {
	Silent bool // no output

	outlet
	link  link
	own   []*followed // that were given
	jobs  []*followed // and those that run in their names
	wake  chan struct{}
	fails chan error

	gate    sync.Mutex // held while nothing is to be shown
	outputs *outputs
	started map[*event.Alloc]map[string]*client.Task // that run since before Follow
}

// New returns what becomes of jobs from now on.
func New(jobs []Job) *Run {
	r := &Run{
		outlet: newOutlet(), wake: make(chan struct{}, 1), fails: make(chan error, 1),
		started: map[*event.Alloc]map[string]*client.Task{},
	}
	r.link.say = r.say
	for _, j := range jobs {
		r.own = append(r.own, newFollowed(j, ""))
	}
	r.jobs = slices.Clone(r.own)
	return r
}

// Hold keeps events back until Resume.
func (r *Run) Hold() { r.gate.Lock() }

// Resume lets events pass again.
func (r *Run) Resume() { r.gate.Unlock() }

// Past returns what has happened until now, as far as the cluster knows it, and
// does not publish it any more. Of output, what comes from now on follows.
func (r *Run) Past(ctx context.Context) (events []event.Event, err error) {
	for _, f := range r.jobs {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
		f.look(ctx, func(s *api.AllocationListStub, a *event.Alloc, n news) {
			events = append(events, event.Event{Time: n.at, Alloc: a, Task: n.task, Body: n.body})
			if state, ok := n.body.(event.TaskState); ok {
				if r.started[a] == nil {
					r.started[a] = map[string]*client.Task{}
				}
				delete(r.started[a], n.task)
				if state.State == "running" {
					r.started[a][n.task] = &client.Task{Server: f.Server, Alloc: s, Name: n.task}
				}
			}
		})
		f.notices() // that, and the deployment, is past
		f.deployed()
	}
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	return events, nil
}

// Registered takes in that a job was registered anew.
func (r *Run) Registered(j Job) {
	for _, f := range r.jobs {
		if *f.ID == *j.ID {
			f.Job, f.now = j, snapshot{} // what it was before does not count any more
		}
	}
}

// Follow publishes what happens until all jobs are over, or ctx is, or the
// cluster is out of reach. Then it ends the subscriptions.
func (r *Run) Follow(ctx context.Context) error {
	defer r.bus.Close()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	r.outputs = newOutputs(ctx)
	r.outputs.say = r.say
	r.outputs.show = func(o *output, piece []byte) {
		r.pass()
		r.show(ctx, o, piece)
	}
	defer func() {
		cancel()
		r.outputs.close()
		watching.Wait()
	}()
	for alloc, tasks := range r.started {
		for _, t := range tasks {
			if !r.Silent {
				r.outputs.begin(t, alloc, client.Position{End: true}, event.Streams...)
			}
		}
	}
	for _, f := range r.jobs {
		r.watch(ctx, &watching, f)
	}
	for {
		select {
		case <-r.wake:
		case err := <-r.fails:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		over := true
		for _, f := range slices.Clone(r.jobs) {
			r.launched(ctx, &watching, f)
			r.publish(ctx, f)
			over = over && f.ended
		}
		if over {
			return nil
		}
	}
}

// Stop stops the jobs, and asks a cluster that is out of reach again; a cluster
// kills none.
func (r *Run) Stop(ctx context.Context, _ bool) error {
	failures := make([]error, len(r.own))
	var stopping sync.WaitGroup
	for i, f := range r.own {
		stopping.Go(func() {
			failures[i] = r.link.watch(ctx, func(uint64) (index uint64, enough bool, err error) {
				err = f.Server.Deregister(ctx, *f.ID, api.DeregisterOptions{})
				return 0, err == nil, err
			})
		})
	}
	stopping.Wait()
	return errors.Join(failures...)
}

// watch asks all that is to be known of a job, as long as it is not over.
func (r *Run) watch(ctx context.Context, watching *sync.WaitGroup, f *followed) {
	for _, ask := range f.questions() {
		watching.Go(func() {
			err := r.link.watch(ctx, func(after uint64) (uint64, bool, error) {
				index, err := ask(ctx, after)
				if err == nil {
					r.alert()
				}
				return index, f.snapshot().status == gone, err
			})
			if err != nil && ctx.Err() == nil {
				select {
				case r.fails <- err:
				default: // one is enough
				}
			}
		})
	}
}

func (r *Run) alert() {
	select {
	case r.wake <- struct{}{}:
	default: // it is told already
	}
}

// launched begins to follow the jobs that run in the name of another.
func (r *Run) launched(ctx context.Context, watching *sync.WaitGroup, parent *followed) {
	for _, stub := range parent.snapshot().children {
		if parent.Over[stub.ID] || slices.ContainsFunc(r.jobs, func(f *followed) bool { return *f.ID == stub.ID }) {
			continue
		}
		j, _, err := parent.Server.Info(ctx, stub.ID, 0)
		if err != nil {
			continue // it is gone already, or the watching tells of the error
		}
		j.Canonicalize()
		child := newFollowed(Job{Job: j, Server: parent.Server}, *parent.ID)
		r.jobs = append(r.jobs, child)
		r.watch(ctx, watching, child)
	}
}

// publish tells what is new of a job.
func (r *Run) publish(ctx context.Context, f *followed) {
	if f.ended {
		return
	}
	tell := func(s *api.AllocationListStub, a *event.Alloc, n news) { r.tell(f, s, a, n) }
	f.look(ctx, tell)
	for _, line := range f.notices() {
		r.say(line)
	}
	switch state, word := f.deployed(); {
	case state != nil:
		r.send(event.Event{Time: unix(0), Body: *state})
	case word != "":
		r.say(word)
	}
	if !f.over() || f.refresh(ctx) != nil {
		return
	}
	f.look(ctx, tell) // what came last
	f.ended = f.over()
}

// tell publishes something about an allocation, behind what its task has
// written before.
func (r *Run) tell(f *followed, s *api.AllocationListStub, a *event.Alloc, n news) {
	kind := ""
	switch body := n.body.(type) {
	case event.TaskEvent:
		kind = body.Type
	case event.TaskState:
		if body.State == dead {
			kind = api.TaskTerminated
		}
	}
	if kind == api.TaskTerminated {
		r.outputs.rest(a.ID, n.task)
	}
	r.send(event.Event{Time: n.at, Alloc: a, Task: n.task, Body: n.body})
	if kind == api.TaskStarted && !r.Silent {
		r.outputs.begin(&client.Task{Server: f.Server, Alloc: s, Name: n.task}, a, client.Position{}, event.Streams...)
	}
}

func (r *Run) say(text string) { r.send(event.Event{Time: unix(0), Body: event.Notice{Text: text}}) }

// pass waits until things may be shown.
func (r *Run) pass() {
	r.gate.Lock()
	defer r.gate.Unlock()
}

func (r *Run) send(e event.Event) {
	r.pass()
	r.bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
}
