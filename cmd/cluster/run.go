// Package cluster follows jobs of a Nomad cluster as if they ran on this
// machine: it publishes their allocations and the output of their tasks as the
// events of a run.
//
// It uses blocking queries
// (https://developer.hashicorp.com/nomad/api-docs#blocking-queries). The
// description of an allocation contains the last ten events of each task, so
// that nothing is lost when a connection breaks. Nomad's event stream contains
// no more, and keeps only a hundred events.
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

// Run follows jobs of a cluster. Past, Registered and Follow must not be called
// concurrently.
type Run struct {
	Silent bool // no output

	outlet
	link  link
	own   []*followed // the jobs of the run
	jobs  []*followed // including launched ones
	wake  chan struct{}
	fails chan error

	gate    sync.Mutex // locked between Hold and Resume
	outputs *outputs
	started map[taskKey]*client.Task // running since before Follow

	reported map[string]reported // by ID of allocations; see Inspect
}

type taskKey struct {
	alloc *event.Alloc
	task  string
}

// New returns a run of jobs.
func New(jobs []Job) *Run {
	r := &Run{
		outlet: newOutlet(), wake: make(chan struct{}, 1), fails: make(chan error, 1),
		started: map[taskKey]*client.Task{}, reported: map[string]reported{},
	}
	r.link.say = r.say
	for _, j := range jobs {
		r.own = append(r.own, newFollowed(j, ""))
	}
	r.jobs = slices.Clone(r.own)
	return r
}

// Hold holds back events until Resume.
func (r *Run) Hold() { r.gate.Lock() }

// Resume publishes events again.
func (r *Run) Resume() { r.gate.Unlock() }

// Past returns the events that the cluster knows, with the state of the latest
// deployment of each job, whatever its version. They, and existing output, are not
// published then.
func (r *Run) Past(ctx context.Context) (events []event.Event, err error) {
	for _, f := range r.jobs {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
		for _, c := range f.changes(ctx) {
			events = append(events, c.Event)
			if state, ok := c.Body.(event.TaskState); ok {
				key := taskKey{c.Alloc, c.Task}
				if delete(r.started, key); state.State == running {
					r.started[key] = &client.Task{Server: f.Server, Alloc: c.stub, Name: c.Task}
				}
			}
		}
		f.notices() // they are in the past
		if d := f.latest(); d != nil {
			events = append(events, event.Event{Time: unix(f.snapshot().deployment.ModifyTime), Body: *d})
		}
	}
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	return events, nil
}

// Registered replaces a job by its registered version.
func (r *Run) Registered(j Job) {
	for _, f := range r.jobs {
		if *f.ID == *j.ID {
			f.Job, f.now = j, snapshot{} // its former state no longer counts
		}
	}
}

// Follow publishes events until all jobs have ended, ctx has ended, or the
// cluster is unreachable. Then it ends the subscriptions.
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
	for key, t := range r.started {
		if !r.Silent {
			r.outputs.begin(t, key.alloc, client.Position{End: true}, event.Streams...)
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

// Stop stops the jobs. It retries while the cluster is unreachable, and cannot
// kill.
func (r *Run) Stop(ctx context.Context, _ bool) error {
	failures := make([]error, len(r.own))
	var stopping sync.WaitGroup
	for i, f := range r.own {
		stopping.Go(func() {
			failures[i] = r.link.follow(ctx, func(uint64) (index uint64, enough bool, err error) {
				err = f.Server.Deregister(ctx, *f.ID, api.DeregisterOptions{})
				return 0, err == nil, err
			})
		})
	}
	stopping.Wait()
	return errors.Join(failures...)
}

// watch repeats all queries about a job until it has ended.
func (r *Run) watch(ctx context.Context, watching *sync.WaitGroup, f *followed) {
	for _, ask := range f.questions() {
		watching.Go(func() {
			err := r.link.follow(ctx, func(after uint64) (uint64, bool, error) {
				index, err := ask(ctx, after)
				if err == nil {
					r.alert()
				}
				return index, f.snapshot().status == gone, err
			})
			if err != nil && ctx.Err() == nil {
				select {
				case r.fails <- err:
				default: // one value is enough
				}
			}
		})
	}
}

func (r *Run) alert() {
	select {
	case r.wake <- struct{}{}:
	default: // Follow was woken already
	}
}

// launched starts to follow the jobs that another job has launched.
func (r *Run) launched(ctx context.Context, watching *sync.WaitGroup, parent *followed) {
	for _, stub := range parent.snapshot().children {
		if parent.Over[stub.ID] || slices.ContainsFunc(r.jobs, func(f *followed) bool { return *f.ID == stub.ID }) {
			continue
		}
		j, _, err := parent.Server.Info(ctx, stub.ID, 0)
		if err != nil {
			continue // it is gone already, or the queries report the error
		}
		j.Canonicalize()
		child := newFollowed(Job{Job: j, Server: parent.Server}, *parent.ID)
		r.jobs = append(r.jobs, child)
		r.watch(ctx, watching, child)
	}
}

func (r *Run) publish(ctx context.Context, f *followed) {
	if f.ended {
		return
	}
	r.publishAllocs(ctx, f)
	for _, line := range f.notices() {
		r.say(line)
	}
	before := f.deployment.API
	state, message := f.deployed()
	if now := f.deployment; state == nil && r.Silent && before != nil && before.ModifyIndex != now.API.ModifyIndex {
		state = &now // a screen counts its allocations, and shows whether it can be promoted
	}
	if state != nil {
		r.send(event.Event{Time: unix(0), Body: *state})
	}
	if message != "" {
		r.say(message)
	}
	if !f.over() || f.refresh(ctx) != nil {
		return
	}
	r.publishAllocs(ctx, f) // the last events
	f.ended = f.over()
}

// publishAllocs publishes the news of a job's allocations, each event after the
// earlier output of its task. The output comes after the news that the task runs.
func (r *Run) publishAllocs(ctx context.Context, f *followed) {
	for _, c := range f.changes(ctx) {
		if c.ends() {
			r.outputs.rest(c.Alloc.ID, c.Task)
		}
		r.send(c.Event)
		if c.entersState(running) && !r.Silent {
			r.outputs.begin(&client.Task{Server: f.Server, Alloc: c.stub, Name: c.Task}, c.Alloc, client.Position{}, event.Streams...)
		}
	}
}

func (r *Run) say(text string) { r.send(event.Event{Time: unix(0), Body: event.Notice{Text: text}}) }

// pass waits while events are held back.
func (r *Run) pass() {
	r.gate.Lock()
	defer r.gate.Unlock()
}

func (r *Run) send(e event.Event) {
	r.pass()
	r.bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
}
