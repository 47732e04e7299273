// Package deployments serves deployments and the orders to promote, pause and
// fail them.
package deployments

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves the deployments of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// Latest answers GET /v1/job/:id/deployment with the latest deployment, or null
// if there is none, on which clients rely.
func (h *Handler) Latest(r *rest.Request) (any, error) {
	list := visible(h.run.Look(), r, r.ID)
	if len(list) == 0 {
		return (*api.Deployment)(nil), nil
	}
	return list[len(list)-1], nil
}

// OfJob answers GET /v1/job/:id/deployments, newest first.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	list := append([]*api.Deployment{}, visible(h.run.Look(), r, r.ID)...)
	slices.Reverse(list)
	return list, nil
}

// List answers GET /v1/deployments.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix := rest.PlainID(r.Query.Get("prefix"))
	list := slices.DeleteFunc(h.all(r), func(d *api.Deployment) bool { return !strings.HasPrefix(rest.PlainID(d.ID), prefix) })
	return rest.Page(r, list, func(d *api.Deployment) string { return d.ID })
}

// Get answers GET /v1/deployment/:id.
func (h *Handler) Get(r *rest.Request) (any, error) { return h.find(r) }

// find returns the deployment that a request names.
func (h *Handler) find(r *rest.Request) (*api.Deployment, error) {
	for _, d := range h.all(r) {
		if d.ID == r.ID {
			return d, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "deployment not found")
}

// all returns the deployments that a request may see.
func (h *Handler) all(r *rest.Request) (list []*api.Deployment) {
	now := h.run.Look()
	for _, j := range now.Jobs {
		list = append(list, visible(now, r, *j.ID)...)
	}
	return list
}

// visible returns the deployments of a job that a request may see.
func visible(now *render.Snapshot, r *rest.Request, job string) []*api.Deployment {
	if j := now.Job(job); j == nil || !r.InNamespace(*j.Namespace) {
		return nil
	}
	return now.Deployments(job)
}

// RefuseUnblock answers PUT /v1/deployment/unblock/:id: only a deployment in
// several regions can be blocked.
func (h *Handler) RefuseUnblock(r *rest.Request) error {
	d, err := h.find(r)
	if err != nil {
		return err
	}
	return rest.Fail(http.StatusBadRequest, "can't unblock a deployment that is not blocked: it is %s", d.Status)
}
