package mesh

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
)

// alloc is the hook of an allocation.
type alloc struct {
	mesh *Mesh
	info hooks.Alloc

	mu         sync.Mutex
	group      *api.TaskGroup // its newest version
	began      bool
	plan       plan
	stops      []func()            // end the forwards
	registered []*service.Instance // sidecars
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
			a.publish(i, false)
		}
	}
	a.registered = nil
}

func (a *alloc) publish(i *service.Instance, registered bool) {
	a.info.Publish(time.Now(), event.Service{
		ID: i.ID, Name: i.ServiceName, Address: i.Address, Port: i.Port, Tags: i.Tags, Registered: registered,
	})
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

func (a *alloc) resolver(u upstream) *resolver {
	return &resolver{mesh: a.mesh, target: a.target(u), tell: func(err error) {
		a.notice("%s: upstream %s: %v", a.info.Alloc.Name, u.at, err)
	}}
}

func (a *alloc) target(u upstream) target { return target{*a.info.Job.Namespace, u.destination} }

func (a *alloc) notice(format string, args ...any) {
	a.info.Publish(time.Now(), event.Notice{Text: fmt.Sprintf(format, args...)})
}
