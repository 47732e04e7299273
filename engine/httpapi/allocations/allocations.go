package allocations

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// List answers GET /v1/allocations, sorted by ID if a prefix is given and by
// age otherwise.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix, err := r.IDPrefix("alloc lookup failed: ")
	if err != nil {
		return nil, err
	}
	stubs, err := h.stubs(r, h.run.Engine.Allocs(), func(a engine.Alloc) bool {
		return r.InNamespace(*a.Job.Namespace) && strings.HasPrefix(rest.PlainID(a.ID), prefix)
	})
	if err != nil {
		return nil, err
	}
	page, err := rest.Page(r, stubs, func(a *api.AllocationListStub) string {
		if prefix != "" {
			return a.ID
		}
		return rest.ByAge(a.CreateIndex, a.ID)
	})
	return render.Stubs(page), err
}

// OfJob answers GET /v1/job/:id/allocations. An unknown job has none.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	return h.listed(r, h.run.Engine.AllocsOf(h.run.Key(r)), func(a engine.Alloc) bool { return r.InNamespace(*a.Job.Namespace) })
}

// OfDeployment answers GET /v1/deployment/allocations/:id.
func (h *Handler) OfDeployment(r *rest.Request) (any, error) {
	if err := rest.CheckID("", r.ID); err != nil {
		return nil, err
	}
	return h.listed(r, h.run.Engine.Allocs(), func(a engine.Alloc) bool { return a.Deployment == r.ID })
}

// OfEvaluation answers GET /v1/evaluation/:id/allocations with the allocations
// that it placed.
func (h *Handler) OfEvaluation(r *rest.Request) (any, error) {
	if err := rest.CheckID("", r.ID); err != nil {
		return nil, err
	}
	return h.listed(r, h.run.Engine.Allocs(), func(a engine.Alloc) bool { return h.run.Tracker.Alloc(a.ID).Evaluation == r.ID })
}

// OfNode answers GET /v1/node/:id/allocations with complete allocations.
func (h *Handler) OfNode(r *rest.Request) (any, error) {
	list := []*render.Allocation{}
	if r.ID != h.run.Machine.ID {
		return list, nil
	}
	for _, a := range h.run.Engine.Allocs() {
		alloc := h.run.Allocation(a)
		alloc.Job = h.run.JobOf(a)
		list = append(list, alloc)
	}
	return list, nil
}
