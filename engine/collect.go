package engine

import (
	"slices"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/store"
)

// How old something must be before a resident engine forgets it, and how often it
// looks, as in Nomad: job_gc_threshold, eval_gc_threshold and job_gc_interval.
const (
	jobAge       = 4 * time.Hour
	allocAge     = time.Hour
	collectEvery = 5 * time.Minute
)

// Collect forgets, like `nomad system gc`, jobs that are dead for good, allocations
// that have ended and were replaced, and evaluations without allocations. It also
// removes their files. A resident engine regularly collects what is old.
func (e *Engine) Collect() {
	done := make(chan struct{})
	if e.runs.enter(func() { e.collect(time.Now(), time.Now()); close(done) }) {
		<-done
	}
}

// collectOld calls collect from time to time.
func (e *Engine) collectOld() {
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.collect(time.Now().Add(-jobAge), time.Now().Add(-allocAge))
		case <-e.settled.Done():
			return
		}
	}
}

// collect forgets jobs that have not changed since the time jobs. It forgets
// allocations that have not changed since the time allocs, and evaluations that are
// older and have no allocations, or whose job is no longer known.
func (e *Engine) collect(jobs, allocs time.Time) {
	for _, r := range e.runs.all() {
		for _, r := range append(r.children.all(), r) {
			r.collect(jobs, allocs)
		}
	}
	known := map[string]bool{}
	for _, job := range e.Jobs() {
		known[e.keyOf(job)] = true
	}
	var unowned []*fold.Evaluation
	e.ForgetEvaluations(func(run *fold.Run) (gone []*fold.Evaluation) {
		used := map[string]bool{}
		for _, a := range run.Allocs {
			used[a.Evaluation] = true
		}
		for _, v := range run.Evaluations {
			switch {
			case used[v.ID] || v.Time.After(allocs):
			case known[v.Job]:
				gone = append(gone, v)
			default:
				unowned = append(unowned, v)
			}
		}
		return gone
	})
	publishForgotten(&e.bus, unowned)
}

// ForgetEvaluations forgets the evaluations that choose returns.
func (e *Engine) ForgetEvaluations(choose func(*fold.Run) []*fold.Evaluation) {
	var gone []*fold.Evaluation
	e.state.Look(func(run *fold.Run) { gone = slices.Clone(choose(run)) })
	for _, r := range e.runs.all() {
		var c store.Change
		r.forgetEvaluations(slices.DeleteFunc(slices.Clone(gone), func(v *fold.Evaluation) bool { return !r.owns(v) }), &c)
		r.recorder.Commit(c)
	}
}
