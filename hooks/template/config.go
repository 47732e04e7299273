package template

import (
	"taskrun/engine/leaf/service"
	"taskrun/jobspec/stub"
)

// Config is what templates can ask beyond their task.
type Config struct {
	Stubs    Stubs
	Services Services // nil: none run here
}

// Stubs are local values in place of those of a cluster.
type Stubs interface {
	// Set returns the stubs as they are now, never nil.
	Set() *stub.Set
	// Changed returns a channel that is closed when Set returns others.
	Changed() <-chan struct{}
}

// Services knows the services that run here.
type Services interface {
	// Instances returns all of them, of every provider and namespace.
	Instances() []Instance
	// Changed returns a channel that is closed when Instances returns others.
	Changed() <-chan struct{}
}

// Instance is one instance of a service. Without a provider it is known to both,
// without a namespace in every one.
type Instance struct {
	service.Instance
	Status string // passing, warning or critical; empty is passing
}

type noStubs struct{}

func (noStubs) Set() *stub.Set           { return stub.None() }
func (noStubs) Changed() <-chan struct{} { return nil }
