// Package services serves the services registered in the catalog.
package services

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/service"
)

// Handler serves the services of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// List answers GET /v1/services with names by namespace, each one with the tags
// of all its instances.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix := r.Query.Get("prefix")
	var list []*api.ServiceRegistrationListStub
	for _, instance := range h.run.Engine.Services().Services(service.All) {
		if !strings.HasPrefix(instance.ServiceName, prefix) || !r.InNamespace(instance.Namespace) {
			continue
		}
		i := slices.IndexFunc(list, func(l *api.ServiceRegistrationListStub) bool { return l.Namespace == instance.Namespace })
		if i < 0 {
			i = len(list)
			list = append(list, &api.ServiceRegistrationListStub{Namespace: instance.Namespace})
		}
		named := list[i].Services
		if n := len(named); n == 0 || named[n-1].ServiceName != instance.ServiceName {
			list[i].Services = append(named, &api.ServiceRegistrationStub{ServiceName: instance.ServiceName, Tags: []string{}})
		}
		stub := list[i].Services[len(list[i].Services)-1]
		for _, tag := range instance.Tags {
			if !slices.Contains(stub.Tags, tag) {
				stub.Tags = append(stub.Tags, tag)
			}
		}
	}
	return rest.Page(r, list, func(l *api.ServiceRegistrationListStub) string { return l.Namespace })
}

// Get answers GET /v1/service/:name with the instances of a service. An unknown
// service has none.
func (h *Handler) Get(r *rest.Request) (any, error) {
	instances := h.registrations(r, service.Named(r.ID))
	if choose := r.Query.Get("choose"); choose != "" {
		return chosen(instances, choose)
	}
	return rest.Page(r, instances, idOf)
}

func idOf(i *api.ServiceRegistration) string { return i.ID }

// chosen returns some of the instances, "number|key".
func chosen(instances []*api.ServiceRegistration, choose string) (any, error) {
	count, key, ok := strings.Cut(choose, "|")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || key == "" {
		return nil, rest.Fail(http.StatusBadRequest, "failed to choose services: Parameter for choose must be in form '<number>|<key>'")
	}
	return service.Choose(instances, n, key, idOf), nil
}

// OfJob answers GET /v1/job/:id/services.
func (h *Handler) OfJob(r *rest.Request) (any, error) {
	if _, _, err := h.run.FindJob(r); err != nil {
		return nil, err
	}
	ofJob := func(i *service.Instance) bool { return i.JobID == r.ID }
	return rest.Page(r, h.registrations(r, ofJob), idOf)
}

// OfAllocation answers GET /v1/allocation/:id/services.
func (h *Handler) OfAllocation(r *rest.Request) (any, error) {
	if err := rest.CheckID("alloc lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	if _, ok := h.run.Engine.Alloc(r.ID); !ok {
		return nil, rest.Fail(http.StatusNotFound, "allocation not found")
	}
	return rest.Page(r, h.registrations(r, service.OfAlloc(r.ID)), idOf)
}

// Delete answers DELETE /v1/service/:name/:id.
func (h *Handler) Delete(r *rest.Request) (any, error) {
	name, id, ok := strings.Cut(r.ID, "/")
	if !ok {
		return nil, rest.Fail(http.StatusBadRequest, "missing service ID")
	}
	found := h.registrations(r, service.Named(name))
	if !slices.ContainsFunc(found, func(i *api.ServiceRegistration) bool { return i.ID == id }) {
		return nil, rest.Fail(http.StatusNotFound, "service registration not found")
	}
	h.run.Engine.Services().Deregister(id)
	return nil, nil
}

// registrations returns copies of the services that keep accepts, with their
// indexes.
func (h *Handler) registrations(r *rest.Request, keep func(*service.Instance) bool) []*api.ServiceRegistration {
	list := []*api.ServiceRegistration{}
	for _, instance := range h.run.Engine.Services().Services(keep) {
		if !r.InNamespace(instance.Namespace) {
			continue
		}
		with := instance.ServiceRegistration
		if with.Tags == nil {
			with.Tags = []string{}
		}
		with.CreateIndex = h.run.Engine.State().Index(fold.Topic{Table: fold.Services, Key: with.ServiceName})
		with.ModifyIndex = with.CreateIndex
		list = append(list, &with)
	}
	return list
}
