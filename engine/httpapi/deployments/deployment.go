// Package deployments serves deployments and the orders to promote, pause and
// fail them.
package deployments

import (
	"errors"
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
	list := h.ofJob(r)
	if len(list) == 0 {
		return (*api.Deployment)(nil), nil
	}
	return list[len(list)-1], nil
}

// OfJob answers GET /v1/job/:id/deployments, newest first.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	list := append([]*api.Deployment{}, h.ofJob(r)...)
	slices.Reverse(list)
	return list, nil
}

// List answers GET /v1/deployments, sorted by ID if there is a prefix, and by age
// otherwise.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix, err := r.IDPrefix("")
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(h.all(r), func(d *api.Deployment) bool { return !strings.HasPrefix(rest.PlainID(d.ID), prefix) })
	return rest.Page(r, list, func(d *api.Deployment) string {
		if prefix != "" {
			return d.ID
		}
		return rest.ByAge(d.CreateIndex, d.ID)
	})
}

// Get answers GET /v1/deployment/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if err := rest.CheckID("deployment lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	d, err := h.find(r)
	if err != nil {
		return nil, rest.Fail(http.StatusNotFound, "%v", err)
	}
	return d, nil
}

// find returns the deployment that a request names. Its error has the status of Nomad's
// orders.
func (h *Handler) find(r *rest.Request) (*api.Deployment, error) {
	for _, d := range h.run.Deployments(h.run.Tracker.JobOf(r.ID)) {
		if d.ID == r.ID {
			return d, nil
		}
	}
	return nil, errors.New("deployment not found")
}

// all returns the deployments in the namespaces of a request.
func (h *Handler) all(r *rest.Request) (list []*api.Deployment) {
	for _, j := range h.run.Engine.Jobs() {
		if r.InNamespace(*j.Namespace) {
			list = append(list, h.run.Deployments(h.run.KeyOf(j))...)
		}
	}
	return list
}

// ofJob returns the deployments of the job that a request names.
func (h *Handler) ofJob(r *rest.Request) []*api.Deployment {
	return slices.DeleteFunc(h.run.Deployments(h.run.Key(r)), func(d *api.Deployment) bool { return !r.InNamespace(d.Namespace) })
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
