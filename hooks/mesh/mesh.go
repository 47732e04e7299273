// Package mesh carries out the connect blocks of services without a service
// mesh: plain TCP forwards take the place of proxies. There is no TLS between
// them, and there are no intentions.
//
//	upstreams         an address of a task's network leads to a service
//	sidecar_service   an address of this machine leads to the service, which may
//	                  listen in a network of its own; registered as
//	                  NAME-sidecar-proxy, as in Consul
//	expose            a port of the group leads to a port of a task
//	ingress gateway   a port of this machine leads to a service
//
// A forward resolves its service at each connection, so that it follows
// instances that come and go, and takes the healthy ones in turn. Without one it
// closes the connection.
package mesh

import (
	"sync"

	"taskrun/engine/leaf/forward"
	"taskrun/engine/leaf/service"
)

// Config configures the hook.
type Config struct {
	// Catalog is where sidecars are registered.
	Catalog *service.Catalog
	// Healthy returns the healthy instances of a service of the provider consul
	// in a namespace, wherever they are.
	Healthy func(namespace, name string) []*service.Instance
	// Idle makes forwards that never open a socket, for tasks that do not run.
	Idle bool
}

// Mesh makes the hooks of one engine.
type Mesh struct {
	cfg     Config
	machine machine

	mu       sync.Mutex
	sidecars map[sidecarKey]forward.Dial // of this engine
}

// sidecarKey identifies the sidecar of a service.
type sidecarKey struct{ alloc, service string }

// New returns the hooks of an engine.
func New(cfg Config) *Mesh {
	return &Mesh{cfg: cfg, machine: machine{shared: map[endpoint]*shared{}}, sidecars: map[sidecarKey]forward.Dial{}}
}

func (m *Mesh) setSidecar(key sidecarKey, dial forward.Dial) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dial == nil {
		delete(m.sidecars, key)
	} else {
		m.sidecars[key] = dial
	}
}

func (m *Mesh) sidecar(key sidecarKey) forward.Dial {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sidecars[key]
}
