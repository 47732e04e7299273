package play

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/verdict"
	"taskrun/engine"
)

// give carries out an order. A restart of tasks takes longer, and continues in the
// background.
func (r *round) give(ctx context.Context, o *jobtest.Order) error {
	id := *r.job.Job.ID
	switch o.Verb {
	case jobtest.Stop:
		return r.stop(id, o)
	case jobtest.Restart:
		return r.restart(ctx, o)
	case jobtest.Signal:
		return r.signal(ctx, o)
	case jobtest.Dispatch:
		_, _, err := r.engine.Handle(id).Dispatch(engine.Dispatch{Meta: o.Meta, Payload: o.Payload})
		return err
	case jobtest.Update:
		version := *r.job.Versions[o.File] // which may come again
		_, err := r.engine.Register(engine.Registration{Job: &version})
		return err
	case jobtest.Scale:
		count := int64(o.Count)
		_, err := r.engine.Handle(id).Scale(engine.Scaling{Group: o.Target, Count: &count})
		return err
	case jobtest.Promote:
		return r.promote(id, o)
	}
	return fmt.Errorf("%q is not an order", o.Verb)
}

// stop stops the job, or allocations, which are replaced.
func (r *round) stop(id string, o *jobtest.Order) error {
	if r.wholeJob(o) {
		r.verdict.Cause = verdict.Cause{Text: "an order of the test stopped the job", User: true}
		_, err := r.engine.Handle(id).Stop(engine.Deregistration{})
		return err
	}
	return r.each(o, func(a engine.Alloc, _ string) error { return r.engine.StopAlloc(a.ID, engine.AllocStop{}) })
}

// signal signals the running tasks that an order names.
func (r *round) signal(ctx context.Context, o *jobtest.Order) error {
	return r.each(o, func(a engine.Alloc, task string) (err error) {
		for _, t := range a.Job.LookupTaskGroup(a.Group).Tasks {
			if running(a, t.Name) && (task == "" || task == t.Name) {
				err = errors.Join(err, a.Signal(ctx, t.Name, o.Signal))
			}
		}
		return err
	})
}

// restart restarts the tasks that an order names, beside the run: it takes as long as
// they take to end.
func (r *round) restart(ctx context.Context, o *jobtest.Order) error {
	return r.each(o, func(a engine.Alloc, task string) error {
		r.acting.Go(func() {
			var err error
			if task == "" {
				err = a.Restart(ctx, false)
			} else {
				err = a.RestartTask(ctx, task)
			}
			if err != nil && ctx.Err() == nil {
				r.fail(refused(o.Range, "restart was refused", err))
			}
		})
		return nil
	})
}

// each calls f with the living allocations that an order names, and the task if it
// names one.
func (r *round) each(o *jobtest.Order, f func(a engine.Alloc, task string) error) error {
	var t jobtest.Target
	if !r.wholeJob(o) {
		var bad *jobtest.NameError
		if t, bad = jobtest.NamesOf(r.newest()).Parse(o.Target); bad != nil {
			return fmt.Errorf("the job has no %q", o.Target)
		}
	}
	found := false
	for _, a := range r.engine.Allocs() {
		if !living(a) || !t.Matches(a.Group, a.Index()) || t.Task != "" && !running(a, t.Task) {
			continue
		}
		found = true
		if err := f(a, t.Task); err != nil {
			return err
		}
	}
	switch {
	case found:
		return nil
	case t.Task != "":
		return fmt.Errorf("task %q is not running", o.Target)
	case !r.wholeJob(o):
		return fmt.Errorf("no allocation of %q is running", o.Target)
	}
	return errors.New("no allocation of the job is running")
}

// one returns the running task that a target names, or the first of several.
func (r *round) one(text string) (engine.Alloc, string, error) {
	t, bad := jobtest.NamesOf(r.newest()).Parse(text)
	if bad != nil || t.Task == "" {
		return engine.Alloc{}, "", fmt.Errorf("the job has no task %q", text)
	}
	for _, a := range r.engine.Allocs() {
		if living(a) && t.Matches(a.Group, a.Index()) && running(a, t.Task) {
			return a, t.Task, nil
		}
	}
	return engine.Alloc{}, "", errors.New("the task is not running")
}

// wholeJob reports whether an order is for the whole job.
func (r *round) wholeJob(o *jobtest.Order) bool { return o.Target == "" || o.Target == *r.job.Job.ID }

func living(a engine.Alloc) bool {
	return a.Unwanted == "" && (a.Status == api.AllocClientStatusRunning || a.Status == api.AllocClientStatusPending)
}

func running(a engine.Alloc, task string) bool {
	t := a.Tasks[task]
	return t != nil && t.State == "running"
}

// promote promotes the canaries of the latest deployment.
func (r *round) promote(id string, o *jobtest.Order) error {
	all := r.engine.Handle(id).Deployments()
	if len(all) == 0 {
		return errors.New("the job has no deployment")
	}
	var groups []string
	if o.Target != "" {
		groups = []string{o.Target}
	}
	return r.engine.Deployment(all[len(all)-1].ID).Promote(groups)
}
