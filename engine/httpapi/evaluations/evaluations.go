// Package evaluations serves evaluations, each of which represents a change.
package evaluations

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// Handler serves the evaluations of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// Count answers GET /v1/evaluations/count.
func (h *Handler) Count(r *rest.Request) (any, error) {
	list, err := rest.Filtered(r, visible(r, h.run.Evaluations(func(*fold.Evaluation) bool { return true })))
	return struct{ Count int }{len(list)}, err
}

// List answers GET /v1/evaluations, sorted by ID if a prefix is given and by
// age otherwise.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix, err := r.IDPrefix("eval lookup failed: ")
	if err != nil {
		return nil, err
	}
	job, status := r.Query.Get("job"), r.Query.Get("status")
	if r.Query.Get("filter") != "" && job+status != "" {
		return nil, rest.Fail(http.StatusBadRequest, "Filter expression cannot be used with other filter parameters")
	}
	list := h.run.Evaluations(func(e *fold.Evaluation) bool {
		_, of := event.SplitJobKey(e.Job)
		return strings.HasPrefix(rest.PlainID(e.ID), prefix) && (job == "" || of == job) && (status == "" || status == api.EvalStatusComplete)
	})
	return rest.Page(r, visible(r, list), func(e *api.Evaluation) string {
		if prefix != "" {
			return e.ID
		}
		return rest.ByAge(e.CreateIndex, e.ID)
	})
}

// OfJob answers GET /v1/job/:id/evaluations. An unknown job has none.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	key := h.run.Key(r)
	return visible(r, h.run.Evaluations(func(e *fold.Evaluation) bool { return e.Job == key })), nil
}

// visible returns the evaluations in the namespaces of a request.
func visible(r *rest.Request, list []*api.Evaluation) []*api.Evaluation {
	return slices.DeleteFunc(list, func(e *api.Evaluation) bool { return !r.InNamespace(e.Namespace) })
}

// Get answers GET /v1/evaluation/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if err := rest.CheckID("failed to lookup eval: eval lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	found := h.run.Evaluations(func(e *fold.Evaluation) bool { return e.ID == r.ID })
	if len(found) == 0 {
		return nil, rest.Fail(http.StatusNotFound, "eval not found")
	}
	return found[0], nil
}

// Collect answers PUT /v1/system/gc. An agent forgets what has ended. A run only
// forgets the evaluations of jobs that have ended: its jobs and allocations remain,
// because they are its record.
func (h *Handler) Collect(r *rest.Request) error {
	if h.run.Resident {
		h.run.Engine.Collect()
		return r.Nothing()
	}
	now := h.run.Look()
	h.run.Engine.ForgetEvaluations(func(run *fold.Run) (over []*fold.Evaluation) {
		for _, e := range run.Evaluations {
			if j := now.Job(e.Job); j == nil || *j.Status == "dead" {
				over = append(over, e)
			}
		}
		return over
	})
	return r.Nothing()
}
