// Package jobs serves jobs: lists and single ones, their versions and sources,
// and the orders to plan, register, scale, dispatch and stop them.
package jobs

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/jobspec"
)

// Order is the purpose of a request with a job.
type Order int

// Orders whose jobs are checked.
const (
	OrderRegister Order = iota
	OrderPlan
	OrderValidate
	OrderDispatch
)

// Preflight changes a canonicalized job to the form in which the run would run
// it, and returns all diagnostics. It does not change a job to dispatch. It may
// be called concurrently.
type Preflight = func(order Order, job *api.Job) jobspec.Diagnostics

// jobsAtOnce limits the concurrent requests with a job.
const jobsAtOnce = 2

// Handler serves the jobs of a run.
type Handler struct {
	run       *render.Run
	preflight Preflight
	stopRun   func(kill bool)               // stops everything that the engine runs; may be nil
	sources   map[string]*api.JobSubmission // of the first versions, by job
	slots     chan struct{}                 // a token for each request with a job
}

// New returns a handler. Sources are the sources of the jobs, by ID, if known.
func New(run *render.Run, preflight Preflight, sources map[string]*api.JobSubmission, stopRun func(kill bool)) *Handler {
	return &Handler{run: run, preflight: preflight, stopRun: stopRun, sources: sources, slots: make(chan struct{}, jobsAtOnce)}
}
