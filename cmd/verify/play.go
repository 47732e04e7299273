// Package verify runs a job on a Nomad agent and on taskrun, in the same way and
// through the same API, and collects the results for a comparison.
package verify

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/cluster"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// Tolerance is for runs on different sides: how long something takes does not count.
var Tolerance = compare.Options{Slack: 50 * time.Millisecond}

// UnplacedError says that Nomad has no place for an allocation.
type UnplacedError struct{ Lines []string }

func (e *UnplacedError) Error() string { return strings.Join(e.Lines, "\n") }

// Played is the result of a job.
type Played struct {
	Run *compare.Run
	// Cause is why the job was stopped, or empty.
	Cause string
	// Unread are the tasks whose environment could not be read.
	Unread []string
}

// Play follows a job until it has ended by the rules of a policy, and collects the
// results. If ctx ends, the job continues.
func Play(ctx context.Context, s Side, p verdict.Policy) (*Played, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := cluster.New([]cluster.Job{{Job: s.Job, Server: s.Server, EvalID: s.EvalID, Over: map[string]bool{}}})
	run.Silent = true
	decider := verdict.New(p, []*api.Job{s.Job})
	c := &collector{Side: s, builder: compare.NewBuilder(), allocs: map[string]*seen{}}
	loop := &source.Loop{
		Source: run, Decider: &patient{Verdict: decider}, Timeout: p.Timeout, Say: func(string) {}, // the caller says why it ends
		Seen: func(e event.Event) {
			c.see(ctx, e)
			if n, ok := e.Body.(event.Notice); ok {
				if lines := s.unplaced(ctx); len(lines) > 0 {
					cancel(&UnplacedError{lines})
					return
				}
				s.Say(n.Text)
			}
		},
		Decided: func() {
			if decider.Stopping() && !c.stopped {
				c.stopped = true
				c.checks(ctx)
			}
		},
	}
	err := loop.Run(ctx)
	c.reading.Wait()
	if err != nil {
		return nil, err
	}
	return c.finish(ctx, decider), nil
}

// unplaced returns why allocations of the job will never be placed.
func (s *Side) unplaced(ctx context.Context) (lines []string) {
	if !s.Alone {
		return nil
	}
	evaluations, _, err := s.Server.Evaluations(ctx, *s.Job.ID, 0)
	if err != nil {
		return nil // the source reports it
	}
	for _, e := range evaluations {
		lines = append(lines, cluster.Unplaced(*s.Job.ID, e.FailedTGAllocs)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (c *collector) see(ctx context.Context, e event.Event) {
	c.builder.Add(e)
	if e.Alloc == nil {
		return
	}
	a := c.allocs[e.Alloc.ID]
	if a == nil {
		a = &seen{late: c.stopped, values: map[compare.Key]string{}, env: map[string]map[compare.Key]string{}, asked: map[string]bool{}}
		c.allocs[e.Alloc.ID] = a
	}
	if state, ok := e.Body.(event.TaskState); ok && state.State == "running" && !a.asked[e.Task] && c.hasProcess(e.Alloc.Group, e.Task) {
		a.asked[e.Task] = true
		c.reading.Go(func() {
			env := c.environment(ctx, e.Alloc.ID, e.Task)
			c.mu.Lock()
			defer c.mu.Unlock()
			a.env[e.Task] = env
		})
	}
}

// hasProcess reports whether a command can run in a task.
func (c *collector) hasProcess(group, task string) bool {
	for _, g := range c.Job.TaskGroups {
		for _, t := range g.Tasks {
			if *g.Name == group && t.Name == task {
				return t.Driver != mock
			}
		}
	}
	return true
}

// mock is a driver whose tasks are no processes.
const mock = "mock_driver"

// finish adds what is left when the job has ended.
func (c *collector) finish(ctx context.Context, v *verdict.Verdict) *Played {
	played := &Played{Run: c.builder.Run(), Cause: v.Cause.Text}
	played.Run.Ring = ring
	played.Run.Lacks = []compare.Kind{compare.Command, compare.Template, compare.Service}
	allocs := played.Run.Allocs
	played.Run.Allocs = nil
	for id := range c.builder.Allocs() { // in the same order
		a, of := allocs[0], c.allocs[id]
		allocs = allocs[1:]
		if of.late {
			continue
		}
		played.Run.Allocs = append(played.Run.Allocs, a)
		maps.Copy(a.Values, of.values)
		for name, t := range a.Tasks {
			maps.Copy(t.Values, of.env[name])
			byEvents(t)
			if of.asked[name] && of.env[name] == nil {
				played.Unread = append(played.Unread, compare.Where{Group: a.Group, Index: a.Index, Task: name}.Target())
			}
		}
		c.files(ctx, id, a)
	}
	return played
}

// byEvents takes the start and the end of a task from its events: its state is that of
// the moment when it was asked for.
func byEvents(t *compare.Task) {
	started := false
	for _, e := range t.Events {
		switch {
		case e.Type == api.TaskStarted && !started:
			t.Started, started = e.At, true
		case e.Type == api.TaskTerminated && t.Ended >= 0:
			t.Ended = e.At
		}
	}
}

// ring is how many events of a task Nomad keeps.
const ring = 10

// checks adds the results of the checks of running allocations.
func (c *collector) checks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for id, a := range c.allocs {
		results, err := c.Server.API.Allocations().Checks(id, c.query(ctx))
		if err != nil {
			continue // it has ended
		}
		for _, r := range results {
			a.values[compare.Key{Kind: compare.Check, Name: r.Service + "/" + r.Check}] = r.Status
		}
	}
}
