// Package allocations serves allocations: lists and single ones, their usage,
// and the orders to stop, restart and signal them.
package allocations

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves the allocations of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// Get answers GET /v1/allocation/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if err := rest.CheckID("alloc lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.Fail(http.StatusNotFound, "alloc not found")
	}
	alloc := h.run.Allocation(a)
	alloc.Job = h.run.JobOf(a)
	return alloc, nil
}

// stubs returns those of the allocations that keep accepts, with the fields that
// the request asks for.
func (h *Handler) stubs(r *rest.Request, from []engine.Alloc, keep func(engine.Alloc) bool) ([]*api.AllocationListStub, error) {
	resources, err := r.Flag("resources")
	if err != nil {
		return nil, err
	}
	states, err := r.FlagOr("task_states", true)
	if err != nil {
		return nil, err
	}
	stubs := []*api.AllocationListStub{}
	for _, a := range from {
		if !keep(a) {
			continue
		}
		alloc := h.run.Bare(a)
		stub := alloc.Stub()
		stub.JobType, stub.JobVersion, stub.AllocatedResources = *a.Job.Type, *a.Job.Version, nil
		if resources {
			stub.AllocatedResources = alloc.AllocatedResources
		}
		if !states {
			stub.TaskStates = nil
		}
		stubs = append(stubs, stub)
	}
	return stubs, nil
}

// listed returns what stubs returns in the form of the responses.
func (h *Handler) listed(r *rest.Request, from []engine.Alloc, keep func(engine.Alloc) bool) ([]*render.Stub, error) {
	stubs, err := h.stubs(r, from, keep)
	return render.Stubs(stubs), err
}

// Checks answers GET /v1/client/allocation/:id/checks.
func (h *Handler) Checks(r *rest.Request) (any, error) {
	if _, ok := h.run.Engine.Alloc(r.ID); !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	var checks map[string]checkStatus // nil if there are none, as in Nomad's JSON
	for id, c := range h.run.Engine.Services().Checks(r.ID) {
		if checks == nil {
			checks = map[string]checkStatus{}
		}
		checks[id] = checkStatus(c)
	}
	return checks, nil
}

// checkStatus is the status of a check as a server writes it: without a task for a
// check of a group, and without a code for a check that is not HTTP.
type checkStatus struct {
	ID         string
	Check      string
	Group      string
	Mode       string
	Output     string
	Service    string
	Task       string `json:",omitempty"`
	Status     string
	StatusCode int `json:",omitempty"`
	Timestamp  int64
}

// done is the response to an order that was carried out.
type done struct{ Index uint64 }

// Restart answers PUT /v1/client/allocation/:id/restart: it restarts one task,
// all running ones or, with AllTasks, also those that have ended.
func (h *Handler) Restart(r *rest.Request, order *api.AllocationRestartRequest) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	var err error
	switch {
	case order.TaskName != "" && order.AllTasks:
		err = errors.New("task name cannot be set when restarting all tasks")
	case order.TaskName != "":
		err = a.RestartTask(r.Context(), order.TaskName)
	default:
		err = a.Restart(r.Context(), order.AllTasks)
	}
	return done{}, err
}

// Stats answers GET /v1/client/allocation/:id/stats with the usage of the
// running tasks, or of one of them, and the total.
func (h *Handler) Stats(r *rest.Request) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	task := r.Query.Get("task")
	if _, ok := a.Tasks[task]; task != "" && !ok {
		return nil, rest.Fail(http.StatusNotFound, "unknown task name %q", task)
	}
	used := a.Stats(r.Context(), task)
	if used.ResourceUsage.DeviceStats == nil {
		used.ResourceUsage.DeviceStats = []*api.DeviceGroupStats{} // clients of Nomad expect a list
	}
	return used, nil
}
