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

// Config is what the orders for jobs need besides the engine.
type Config struct {
	// Preflight makes of a job, which is canonicalized then, what the run would
	// make of it, and returns everything that is wrong with it. A job that is
	// dispatched is not changed. Several jobs may be checked at once.
	Preflight func(order Order, job *api.Job) jobspec.Diagnostics
	// Sources is what the jobs were made of, by ID, where that is known.
	Sources map[string]*api.JobSubmission
	// StopRun, if set, stops or kills everything that the engine runs.
	StopRun func(kill bool)
}

// jobsAtOnce is how many requests with a job are carried out at a time.
const jobsAtOnce = 2

// Handler serves the jobs of a run.
type Handler struct {
	run         *render.Run
	cfg         Config
	submissions submissions
	slots       chan struct{} // one for each request with a job
}

// New returns a handler.
func New(run *render.Run, cfg Config) *Handler {
	h := &Handler{run: run, cfg: cfg, slots: make(chan struct{}, jobsAtOnce)}
	for id, source := range cfg.Sources {
		h.submissions.keep(id, 0, source)
	}
	return h
}
