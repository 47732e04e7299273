// Package jobs serves jobs: lists and single ones, their versions and sources,
// and the orders to plan, register, scale, dispatch and stop them.
package jobs

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/jobspec"
)

// Order is what a client wants done with a job.
type Order int

// The orders whose jobs are checked.
const (
	OrderRegister Order = iota
	OrderPlan
	OrderValidate
	OrderDispatch
)

// Preflight makes of a job, which is canonicalized then, what the run would make
// of it, and returns everything that is wrong with it. A job that is dispatched is
// not changed. Several jobs may be checked at once.
type Preflight = func(order Order, job *api.Job) jobspec.Diagnostics

// jobsAtOnce is how many requests with a job are carried out at a time.
const jobsAtOnce = 2

// Handler serves the jobs of a run.
type Handler struct {
	run         *render.Run
	preflight   Preflight
	stopRun     func(kill bool) // of everything that the engine runs; may be nil
	submissions submissions
	slots       chan struct{} // one for each request with a job
}

// New returns a handler. Sources is what the jobs were made of, by ID, where that
// is known.
func New(run *render.Run, preflight Preflight, sources map[string]*api.JobSubmission, stopRun func(kill bool)) *Handler {
	h := &Handler{run: run, preflight: preflight, stopRun: stopRun, slots: make(chan struct{}, jobsAtOnce)}
	for id, source := range sources {
		h.submissions.keep(id, 0, source)
	}
	return h
}
