package mesh

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// Alloc makes the hook of an allocation, or returns nil if its group is in no
// mesh. It is a hooks.AllocFactory.
func (m *Mesh) Alloc(info hooks.Alloc) hooks.AllocHook {
	for _, s := range info.Group.Services {
		if s.Connect != nil && !s.Connect.Native {
			return &alloc{mesh: m, info: info, group: info.Group}
		}
	}
	return nil
}

// Name implements hooks.AllocHook.
func (a *alloc) Name() string { return "mesh" }

// Prerun starts the forwards and registers the sidecars.
func (a *alloc) Prerun(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = true
	p, err := a.read()
	if err != nil {
		return err
	}
	return a.start(ctx, p)
}

func (a *alloc) read() (plan, error) {
	return newPlan(a.info.Alloc.ID, a.group, a.info.Ports, a.info.Env())
}

// start starts the forwards of a plan. On error none is left. The lock is held.
func (a *alloc) start(ctx context.Context, p plan) (err error) {
	a.plan = p
	defer func() {
		if err != nil {
			a.stop()
		}
	}()
	for _, s := range p.sidecars {
		if err = a.startSidecar(ctx, s); err != nil {
			return fmt.Errorf("sidecar of service %q: %w", s.of, err)
		}
	}
	if a.mesh.cfg.Idle {
		return nil
	}
	for _, e := range p.exposed {
		if err = a.expose(ctx, e); err != nil {
			return fmt.Errorf("port %q that exposes a path: %w", e.port.Label, err)
		}
	}
	for _, u := range p.upstreams {
		if err = a.upstream(ctx, u); err != nil {
			return fmt.Errorf("upstream %q of service %q: %w", u.destination, u.of, err)
		}
	}
	for _, g := range p.gateways {
		if err = a.gateway(ctx, g); err != nil {
			return fmt.Errorf("ingress gateway %q, port %d: %w", g.of, g.at.port, err)
		}
	}
	return nil
}

// stop ends all forwards. The lock is held.
func (a *alloc) stop() {
	a.deregister()
	for _, stop := range a.stops {
		stop()
	}
	a.stops = nil
}

func (a *alloc) deregister() {
	for _, i := range a.registered {
		if a.mesh.cfg.Catalog.Deregister(i.ID) != nil {
			a.info.PublishService(&i.ServiceRegistration, false)
		}
	}
	a.registered = nil
}

// Prekill deregisters the sidecars. The tasks keep their upstreams until they
// have ended.
func (a *alloc) Prekill(context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deregister()
}

// Postrun ends the forwards.
func (a *alloc) Postrun(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = false
	a.stop()
	return nil
}

// Shutdown ends the forwards. The next engine starts them again, but connections
// do not survive.
func (a *alloc) Shutdown() { _ = a.Postrun(context.Background()) }

// Update starts the forwards of a new version of the job, if they differ.
func (a *alloc) Update(ctx context.Context, _ *api.Job, group *api.TaskGroup) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.group = group
	if !a.began {
		return nil
	}
	p, err := a.read()
	if err != nil || reflect.DeepEqual(p, a.plan) {
		return err
	}
	a.stop()
	return a.start(ctx, p)
}
