package play

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// closeTime is how long tasks that were killed may take to end.
const closeTime = time.Minute

// begin submits the job.
func (r *round) begin() error {
	r.began = time.Now()
	r.verdict = verdict.New(verdict.Policy{Timeout: r.limit}, []*api.Job{r.job.Job})
	r.orders, r.versions = r.job.Run.Orders, map[uint64]*api.Job{0: r.job.Job}
	r.output = map[jobtest.TaskKey]*output{}
	flood := sync.OnceFunc(r.engine.Kill)
	r.sub = r.engine.SubscribeTo(func(e event.Event) bool {
		if _, output := e.Body.(event.Output); !output && r.count.Add(1) > r.maxEvents {
			flood()
			return false
		}
		return true
	})
	return r.engine.Submit(r.job.Job)
}

// follow returns once the run has reached its goal, or ends.
func (r *round) follow(ctx context.Context) error {
	over, done := context.WithCancel(ctx)
	defer done()
	r.wake = done
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.engine.Done():
			done()
		case <-stop:
		}
	}()
	limit := r.began.Add(r.limit)
	for {
		r.settle()
		r.take()
		if err := r.failure(); err != nil || r.unfinished != "" {
			return err
		}
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		ended := r.ended()
		now := time.Now()
		if len(r.orders) > 0 && !ended && r.orders[0].At <= now.Sub(r.began) {
			if err := r.next(ctx, now); err != nil {
				return err
			}
			continue
		}
		g := r.goal(now)
		switch {
		case ended && len(r.orders) > 0:
			o := r.orders[0]
			return refused(o.Range, "the run ended before this order", fmt.Errorf("it ended after %v, and the order is for %v", now.Sub(r.began).Round(resolution), o.At))
		case ended:
			return nil
		case g.failed:
			r.verdict.Cause = verdict.Cause{Text: g.why, Code: verdict.Failed, Own: true}
			return nil
		case g.reached:
			r.verdict.Cause = verdict.Cause{Text: g.why}
			return nil
		case !now.Before(limit):
			r.verdict.Overdue()
			r.unfinished = r.verdict.Cause.Text
			return nil
		}
		due := limit
		if !g.due.IsZero() && g.due.Before(due) {
			due = g.due
		}
		if len(r.orders) > 0 {
			if at := r.began.Add(r.orders[0].At); at.Before(due) {
				due = at
			}
		}
		r.await(over, due)
	}
}

// next carries out the next order, all of whose instant has happened.
func (r *round) next(ctx context.Context, now time.Time) error {
	o := r.orders[0]
	r.orders = r.orders[1:]
	r.changed = now
	if err := r.give(ctx, o); err != nil {
		return refused(o.Range, fmt.Sprintf("%s was refused", o.Verb), err)
	}
	j := r.newest()
	r.versions[*j.Version] = j
	return nil
}

// goal returns whether the run has reached its goal. That counts once all orders
// were carried out.
func (r *round) goal(now time.Time) goal {
	until := r.job.Run.Until
	switch {
	case len(r.orders) > 0:
		return goal{}
	case until.Event == "" && now.Sub(r.began) >= until.After:
		return goal{reached: true, why: fmt.Sprintf("%v have passed", until.After)}
	case until.Event == "":
		return goal{due: r.began.Add(until.After)}
	case until.Event == jobtest.Running:
		return allRun(r.verdict.Run, 1, r.changed, now)
	case until.Event == jobtest.Healthy:
		return healthy(r.verdict.Run, r.newest(), r.changed, now)
	}
	return goal{}
}

// await returns with the next event, at a time, or when the run ends.
func (r *round) await(over context.Context, due time.Time) {
	ctx, cancel := context.WithDeadline(over, due)
	defer cancel()
	if e, ok := r.sub.Next(ctx); ok {
		r.observe(e)
	}
}

// play submits the job, follows it to the moment of the outcome, has exec look at
// it, and then stops what runs.
func (r *round) play(ctx context.Context, seed uint64, grace time.Duration, exec func(context.Context, *jobtest.Outcome) error) (*jobtest.Outcome, error) {
	if err := r.begin(); err != nil {
		r.sub.Close()
		return nil, errors.Join(err, r.close(ctx))
	}
	acting, cancel := context.WithCancel(ctx)
	err := r.follow(acting)
	o := r.outcome(seed)
	if err == nil && exec != nil {
		err = exec(ctx, o)
	}
	r.sub.Close()
	cancel()
	return o, errors.Join(err, r.end(ctx, grace))
}

// end stops the job, kills it if that takes too long, and returns once everything
// has ended.
func (r *round) end(ctx context.Context, grace time.Duration) error {
	r.engine.Stop()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-r.engine.Done():
	case <-patience.C:
	case <-ctx.Done():
	}
	err := r.close(ctx)
	r.acting.Wait()
	r.settle()
	return err
}

// close kills what still runs.
func (r *round) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := r.engine.Close(ctx)
	r.left = err != nil
	return err
}
