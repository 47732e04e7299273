package play

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/verdict"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// resolution is that of the times in an outcome. It hides the lags of tasks.
const resolution = time.Millisecond

// round is a run in progress.
type round struct {
	job       *Prepared
	engine    *engine.Engine
	witness   *witness
	settle    func() // returns when all that happens now has happened
	limit     time.Duration
	maxEvents int64

	began      time.Time
	changed    time.Time           // by the latest order
	orders     []*jobtest.Order    // that are still to be carried out
	versions   map[uint64]*api.Job // by number
	sub        *event.Subscription
	count      atomic.Int64 // of events
	events     []event.Event
	output     map[jobtest.TaskKey]*output
	notices    []string
	verdict    *verdict.Verdict
	unfinished string // why it was ended early; see the outcome
	left       bool   // something may still run in the end

	acting sync.WaitGroup // orders that take longer
	wake   context.CancelFunc
	mu     sync.Mutex
	broken error // why an order has failed
}

// newest returns the newest version of the job.
func (r *round) newest() *api.Job {
	for _, j := range r.engine.Jobs() {
		return j
	}
	return r.job.Job
}

// take takes in the events that are there.
func (r *round) take() {
	for r.sub.Ready() {
		e, ok := r.sub.Next(context.Background())
		if !ok {
			return
		}
		r.observe(e)
	}
}

func (r *round) observe(e event.Event) {
	switch body := e.Body.(type) {
	case event.Output:
		r.outputOf(e).add(body)
		return
	case event.Gap, event.Progress, event.Forgotten, event.Variable, event.Scaled, event.Moved:
		return
	case event.Notice:
		r.notices = append(r.notices, body.Text)
	}
	r.events = append(r.events, e)
	r.apply(r.verdict.Run, e)
}

func (r *round) outputOf(e event.Event) *output {
	key := jobtest.TaskKey{Alloc: e.Alloc.ID, Task: e.Task}
	if r.output[key] == nil {
		r.output[key] = &output{}
	}
	return r.output[key]
}

// apply folds an event in. Allocations are of the version of the job that was the
// newest when they were placed.
func (r *round) apply(run *fold.Run, e event.Event) {
	if v, ok := e.Body.(event.Version); ok && v.Job == *r.job.Job.ID {
		if j := r.versions[v.Number]; j != nil {
			run.Jobs = []*api.Job{j}
			run.Specify(v.Job, j)
		}
	}
	run.Apply(e)
}

func (r *round) ended() bool {
	select {
	case <-r.engine.Done():
		return true
	default:
		return false
	}
}

// fail records why the run cannot continue.
func (r *round) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
	r.wake()
}

// failure returns why the run cannot continue, or nil.
func (r *round) failure() error {
	if r.count.Load() > r.maxEvents {
		r.unfinished = fmt.Sprintf("it had more than %d events within %v", r.maxEvents, time.Since(r.began).Round(resolution))
		r.verdict.Cause = verdict.Cause{Text: r.unfinished, Code: verdict.Failed, Own: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// refused is the error of an order or a command that could not be carried out. It
// stands where that stands.
func refused(at hcl.Range, summary string, err error) error {
	return jobspec.Diagnostic{Summary: summary, Detail: err.Error(), Range: jobspec.RangeOf(at)}
}
