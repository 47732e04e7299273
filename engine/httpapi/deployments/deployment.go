// Package deployments serves deployments, and the orders to promote, pause and
// fail them.
package deployments

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves the deployments of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// Latest answers GET /v1/job/:id/deployment with the latest one; a job
// without one answers null, on which clients rely.
func (h *Handler) Latest(r *rest.Request) (any, error) {
	list := visible(h.run.Look(), r, r.ID)
	if len(list) == 0 {
		return (*api.Deployment)(nil), nil
	}
	return list[len(list)-1], nil
}

// OfJob answers GET /v1/job/:id/deployments, the newest first.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	list := []*api.Deployment{}
	for _, d := range visible(h.run.Look(), r, r.ID) {
		list = append([]*api.Deployment{d}, list...)
	}
	return list, nil
}

// List answers GET /v1/deployments.
func (h *Handler) List(r *rest.Request) (any, error) {
	now, list := h.run.Look(), []*api.Deployment{}
	for _, j := range now.Jobs {
		for _, d := range visible(now, r, *j.ID) {
			if strings.HasPrefix(rest.PlainID(d.ID), rest.PlainID(r.Query.Get("prefix"))) {
				list = append(list, d)
			}
		}
	}
	return rest.Page(r, list, func(d *api.Deployment) string { return d.ID })
}

// Get answers GET /v1/deployment/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	now := h.run.Look()
	for _, j := range now.Jobs {
		for _, d := range visible(now, r, *j.ID) {
			if d.ID == r.ID {
				return d, nil
			}
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "deployment not found")
}

// findByID returns the deployment that a request is about.
func (h *Handler) findByID(r *rest.Request) (engine.Deployment, bool) {
	for _, j := range h.run.Look().Jobs {
		for _, d := range h.run.Engine.Deployments(*j.ID) {
			if d.ID == r.ID && r.InNamespace(*j.Namespace) {
				return d, true
			}
		}
	}
	return engine.Deployment{}, false
}

// visible are the deployments of a job that a request may see.
func visible(now *render.Snapshot, r *rest.Request, job string) []*api.Deployment {
	if j := now.Job(job); j == nil || !r.InNamespace(*j.Namespace) {
		return nil
	}
	return now.Deployments(job)
}

// RefuseUnblock answers PUT /v1/deployment/unblock/:id: deployments wait for
// those of other regions only.
func (h *Handler) RefuseUnblock(r *rest.Request) error {
	now := h.run.Look()
	for _, j := range now.Jobs {
		for _, d := range now.Deployments(*j.ID) {
			if d.ID == r.ID {
				return rest.Fail(http.StatusBadRequest, "can't unblock a deployment that is not blocked: it is %s", d.Status)
			}
		}
	}
	return rest.Fail(http.StatusNotFound, "deployment not found")
}
