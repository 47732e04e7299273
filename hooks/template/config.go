package template

import (
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Config configures the sources that templates can read outside of their task.
type Config struct {
	Stubs    Stubs
	Services Services // nil: there are none
	// View returns where a task sees addresses of this machine; nil, for the
	// function or its result: where the machine does.
	View func(hooks.Task) taskenv.View
	// Unsourced: the file of a "source" may be missing, and is empty then. In a
	// rehearsal nothing would bring it.
	Unsourced bool

	authority *authority // nil: a new one for each task
}

// Stubs are local values that replace those of a cluster.
type Stubs interface {
	// Set returns the current stubs, never nil.
	Set() *stub.Set
	// Changed returns a channel that is closed when Set returns a new value.
	Changed() <-chan struct{}
}

// Services is the set of services that templates can see.
type Services interface {
	// Instances returns all of them, of every provider and namespace.
	Instances() []Instance
	// Changed returns a channel that is closed when Instances returns a new
	// list.
	Changed() <-chan struct{}
}

// Instance is an instance of a service. Without a provider, all providers know
// it; without a namespace, it is in all of them.
type Instance struct {
	service.Instance
	Status string // passing, warning or critical; empty is passing
}
