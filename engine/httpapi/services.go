package httpapi

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
)

// listServices answers GET /v1/services: the names by namespace, each with the
// tags of all its instances.
func (s *Server) listServices(_ http.ResponseWriter, r *request) (any, error) {
	prefix := r.query.Get("prefix")
	var list []*api.ServiceRegistrationListStub
	for _, instance := range s.engine.Services().Services(service.All) {
		if !strings.HasPrefix(instance.ServiceName, prefix) || !r.inNamespace(instance.Namespace) {
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
	return page(r, list, func(l *api.ServiceRegistrationListStub) string { return l.Namespace })
}

// getService answers GET /v1/service/:name with the instances of a service; an
// unknown one has none.
func (s *Server) getService(_ http.ResponseWriter, r *request) (any, error) {
	instances := s.registrations(r, service.Named(r.id))
	if choose := r.query.Get("choose"); choose != "" {
		return chosen(instances, choose)
	}
	return page(r, instances, func(i *api.ServiceRegistration) string { return i.ID })
}

// chosen returns the n instances that a key prefers, always the same for the
// same key as long as they are there (rendezvous hashing).
func chosen(instances []*api.ServiceRegistration, choose string) (any, error) {
	count, key, ok := strings.Cut(choose, "|")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || key == "" {
		return nil, fail(http.StatusBadRequest, "malformed choose parameter")
	}
	rank := func(i *api.ServiceRegistration) string {
		sum := sha256.Sum256([]byte(key + "\x00" + i.ID))
		return string(sum[:])
	}
	slices.SortFunc(instances, func(a, b *api.ServiceRegistration) int { return strings.Compare(rank(a), rank(b)) })
	return instances[:min(n, len(instances))], nil
}

// jobServices answers GET /v1/job/:id/services.
func (s *Server) jobServices(_ http.ResponseWriter, r *request) (any, error) {
	if _, _, err := s.findJob(r); err != nil {
		return nil, err
	}
	ofJob := func(i *service.Instance) bool { return i.JobID == r.id }
	return page(r, s.registrations(r, ofJob), func(i *api.ServiceRegistration) string { return i.ID })
}

// allocationServices answers GET /v1/allocation/:id/services.
func (s *Server) allocationServices(_ http.ResponseWriter, r *request) (any, error) {
	if _, ok := s.engine.Alloc(r.id); !ok {
		return nil, fail(http.StatusNotFound, "alloc not found")
	}
	return page(r, s.registrations(r, service.OfAlloc(r.id)), func(i *api.ServiceRegistration) string { return i.ID })
}

// deleteService answers DELETE /v1/service/:name/:id.
func (s *Server) deleteService(_ http.ResponseWriter, r *request) (any, error) {
	name, id, ok := strings.Cut(r.id, "/")
	if !ok {
		return nil, fail(http.StatusBadRequest, "missing service ID")
	}
	found := s.registrations(r, service.Named(name))
	if !slices.ContainsFunc(found, func(i *api.ServiceRegistration) bool { return i.ID == id }) {
		return nil, fail(http.StatusNotFound, "service registration not found")
	}
	s.engine.Services().Deregister(id)
	return nil, nil
}

// registrations are copies of the services that a filter lets pass, with their
// indexes.
func (s *Server) registrations(r *request, keep func(*service.Instance) bool) []*api.ServiceRegistration {
	list := []*api.ServiceRegistration{}
	for _, instance := range s.engine.Services().Services(keep) {
		if !r.inNamespace(instance.Namespace) {
			continue
		}
		with := instance.ServiceRegistration
		if with.Tags == nil {
			with.Tags = []string{}
		}
		with.CreateIndex = s.tracker.index(serviceTopic(with.ServiceName))
		with.ModifyIndex = with.CreateIndex
		list = append(list, &with)
	}
	return list
}
