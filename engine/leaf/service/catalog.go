// Package service is the local catalog of services: the services of tasks,
// their addresses, and the results of their checks. It replaces Nomad's service
// discovery and Consul: to the catalog, a provider is only a name in the job
// file.
package service

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/stub"
)

// Instance is a registered instance of a service.
type Instance struct {
	api.ServiceRegistration
	Provider string // nomad or consul
	Meta     map[string]string
}

// OfStub returns the instance that a stub stands for.
func OfStub(s stub.Service) *Instance {
	return &Instance{Provider: s.Provider, Meta: s.Meta, ServiceRegistration: api.ServiceRegistration{
		ID: s.ID(), ServiceName: s.Name, Namespace: s.Namespace, Address: s.Address, Port: s.Port, Tags: s.Tags,
	}}
}

// Choose returns the n instances of a list that a key prefers. As long as they exist,
// they are always the same for a key (rendezvous hashing).
func Choose[I any](list []I, n int, key string, id func(I) string) []I {
	rank := func(i I) string {
		sum := sha256.Sum256([]byte(key + "\x00" + id(i)))
		return string(sum[:])
	}
	slices.SortFunc(list, func(a, b I) int { return cmp.Compare(rank(a), rank(b)) })
	return list[:min(n, len(list))]
}

// Catalog contains the services of an engine. The zero value is empty and
// ready. Its methods are safe for concurrent use.
type Catalog struct {
	mu       sync.Mutex
	services map[string]*Instance                        // by ID
	checks   map[string]map[string]*api.AllocCheckStatus // by allocation and ID
	changed  chan struct{}
}

// Register adds a service, or replaces the one with its ID. The catalog owns r
// from then on.
func (c *Catalog) Register(r *Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.services == nil {
		c.services = map[string]*Instance{}
	}
	c.services[r.ID] = r
	c.wake()
}

// Deregister removes a service and returns it, or nil if there is none.
func (c *Catalog) Deregister(id string) *Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.services[id]
	if r != nil {
		delete(c.services, id)
		c.wake()
	}
	return r
}

// Changed returns a channel that is closed at the next change of the services
// or the results of their checks. Call it before reading them.
func (c *Catalog) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Wake wakes the followers of the catalog because services outside of it have
// changed.
func (c *Catalog) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}

// wake reports a change. The caller must hold the lock.
func (c *Catalog) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Services returns the instances that keep accepts, sorted by name and then by
// ID. They are read only.
func (c *Catalog) Services(keep func(*Instance) bool) []*Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []*Instance{}
	for _, r := range c.services {
		if keep(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.ServiceName, b.ServiceName), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Named accepts the instances of one service.
func Named(name string) func(*Instance) bool {
	return func(r *Instance) bool { return r.ServiceName == name }
}

// OfAlloc accepts the services of one allocation.
func OfAlloc(id string) func(*Instance) bool {
	return func(r *Instance) bool { return r.AllocID == id }
}

// All accepts every service.
func All(*Instance) bool { return true }

// SetCheck records the result of an allocation's check and returns the previous
// one, or nil if the check is new.
func (c *Catalog) SetCheck(alloc string, status api.AllocCheckStatus) (before *api.AllocCheckStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checks == nil {
		c.checks = map[string]map[string]*api.AllocCheckStatus{}
	}
	of := c.checks[alloc]
	if of == nil {
		of = map[string]*api.AllocCheckStatus{}
		c.checks[alloc] = of
	}
	before = of[status.ID]
	of[status.ID] = &status
	if before == nil || before.Status != status.Status {
		c.wake()
	}
	return before
}

// ForgetCheck removes a check of an allocation.
func (c *Catalog) ForgetCheck(alloc, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.checks[alloc][id]; ok {
		delete(c.checks[alloc], id)
		c.wake()
	}
}

// Checks returns the results of an allocation's checks, by ID.
func (c *Catalog) Checks(alloc string) api.AllocCheckStatuses {
	c.mu.Lock()
	defer c.mu.Unlock()
	statuses := api.AllocCheckStatuses{}
	for id, status := range c.checks[alloc] {
		statuses[id] = *status
	}
	return statuses
}

// Passes reports whether every check of an instance passes.
func (c *Catalog) Passes(i *Instance) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, status := range c.checks[i.AllocID] {
		if status.Service == i.ServiceName && status.Status != "success" {
			return false
		}
	}
	return true
}

// Forget removes the checks of an allocation.
func (c *Catalog) Forget(alloc string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.checks, alloc)
	before := len(c.services)
	maps.DeleteFunc(c.services, func(_ string, r *Instance) bool { return r.AllocID == alloc })
	if len(c.services) != before {
		c.wake()
	}
}
