package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"taskrun/engine/leaf/forward"
	"taskrun/engine/leaf/service"
)

// resolver opens connections to the instances of a service, one after another.
type resolver struct {
	mesh   *Mesh
	target target
	next   atomic.Uint64
	// tell receives the first of several failures in a row.
	tell   func(error)
	failed atomic.Bool
}

// dial connects to the next healthy instance, or to another one if that cannot
// be reached.
func (r *resolver) dial(ctx context.Context) (net.Conn, error) {
	conn, err := r.try(ctx)
	switch {
	case err == nil:
		r.failed.Store(false)
	case ctx.Err() == nil && !r.failed.Swap(true):
		r.tell(err)
	}
	return conn, err
}

func (r *resolver) try(ctx context.Context) (net.Conn, error) {
	list := r.mesh.cfg.Healthy(r.target.namespace, r.target.service)
	if len(list) == 0 {
		return nil, fmt.Errorf("service %q has no healthy instance", r.target.service)
	}
	proxies := map[string]*service.Instance{}
	for _, p := range r.mesh.cfg.Healthy(r.target.namespace, r.target.service+SidecarSuffix) {
		proxies[p.AllocID] = p
	}
	first := r.next.Add(1) - 1
	var failures []error
	for i := range list {
		instance := list[(first+uint64(i))%uint64(len(list))]
		conn, err := r.mesh.dialerOf(instance, proxies[instance.AllocID])(ctx)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("service %q cannot be reached: %w", r.target.service, errors.Join(failures...))
}

// dialerOf returns a function that connects to an instance. If its sidecar belongs
// to this engine, it connects directly to the destination of the sidecar; otherwise
// to the sidecar or, without one, to the instance itself.
func (m *Mesh) dialerOf(i, proxy *service.Instance) forward.Dial {
	if i.AllocID != "" {
		if dial := m.sidecar(sidecarKey{i.AllocID, i.ServiceName}); dial != nil {
			return dial
		}
		if proxy != nil {
			i = proxy
		}
	}
	return dialAt(endpoint{i.Address, i.Port})
}
