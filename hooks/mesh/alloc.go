package mesh

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
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
		if !a.outside(a.group) { // nothing can listen in the network of the group
			break
		}
		if err = a.listen(ctx, u); err != nil {
			return fmt.Errorf("upstream %q of service %q: %w", u.destination, u.of, err)
		}
	}
	for _, u := range p.gateways {
		if err = a.listen(ctx, u); err != nil {
			return fmt.Errorf("ingress gateway %q, port %d: %w", u.of, u.at.port, err)
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

// startSidecar leads a port of this machine to a service of the group, and
// registers it.
func (a *alloc) startSidecar(ctx context.Context, s sidecar) error {
	at, local := endpoint{host: localhost}, s.local
	if ip := a.inside(s.task); ip != "" { // where the driver has forwarded the ports of the group
		local.host = ip
	} else if own, ok := labeled(s.port, a.info.Ports); ok {
		at = endpoint{own.HostIP, own.Value}
	} else if s.port != "" {
		return fmt.Errorf("the group has no port %q", s.port)
	}
	dial := dialAt(local)
	if a.mesh.cfg.Idle {
		at.port = cmp.Or(at.port, s.local.port)
	} else {
		f, err := start(ctx, at, dial)
		if err != nil {
			return err
		}
		key := sidecarKey{a.info.Alloc.ID, s.of}
		a.mesh.setSidecar(key, dial)
		a.stops = append(a.stops, func() {
			a.mesh.setSidecar(key, nil)
			f.Stop()
		})
		at.port = f.Addr().(*net.TCPAddr).Port
	}
	i := &service.Instance{
		ServiceRegistration: api.ServiceRegistration{
			ID: s.id, ServiceName: s.of + SidecarSuffix, Namespace: *a.info.Job.Namespace, NodeID: a.info.Node.ID,
			Datacenter: a.info.Node.Datacenter, JobID: *a.info.Job.ID, AllocID: a.info.Alloc.ID, Tags: s.tags, Address: at.host, Port: at.port,
		},
		Provider: "consul", Meta: s.meta,
	}
	a.mesh.cfg.Catalog.Register(i)
	a.registered = append(a.registered, i)
	a.publish(i, true)
	return nil
}

// expose leads a port of the group to one of a task.
func (a *alloc) expose(ctx context.Context, e exposed) error {
	at := endpoint{e.port.HostIP, e.port.Value}
	if at == e.local || a.inside(e.task) != "" { // the task listens there itself, or the driver has the port
		return nil
	}
	f, err := start(ctx, at, dialAt(e.local))
	if err == nil {
		a.stops = append(a.stops, f.Stop)
	}
	return err
}

// listen leads an address of this machine to a service.
func (a *alloc) listen(ctx context.Context, u upstream) error {
	to, at := target{*a.info.Job.Namespace, u.destination}, u.at.atHome()
	if a.direct(to, at) {
		return nil
	}
	release, err := a.mesh.machine.share(ctx, at, to, a.info.Alloc.Name, a.resolver(u, to).dial)
	if err == nil {
		a.stops = append(a.stops, release)
	}
	return err
}

// direct reports whether a service has, or will have, an address itself: nothing
// needs to lead there.
func (a *alloc) direct(to target, at endpoint) bool {
	for _, i := range a.mesh.cfg.Healthy(to.namespace, to.service) {
		if (endpoint{i.Address, i.Port}) == at && a.mesh.sidecar(sidecarKey{i.AllocID, i.ServiceName}) == nil {
			return true
		}
	}
	for _, g := range a.info.Job.TaskGroups {
		for _, s := range g.Services {
			if s.Name == to.service && at == (endpoint{localhost, FixedPort(s, g)}) && a.outside(g) {
				return true
			}
		}
	}
	return false
}

// inside returns the address of a task in the network of its group, or "" if it
// uses the network of this machine. A service without a task is one of those in
// the network.
func (a *alloc) inside(task string) string {
	n := a.info.Isolation()
	if n == nil {
		return ""
	}
	for _, t := range a.group.Tasks {
		if t.Name == task && t.Driver != n.Driver {
			return ""
		}
	}
	return n.IP
}

// outside reports whether tasks of a group use the network of this machine.
func (a *alloc) outside(g *api.TaskGroup) bool {
	return slices.ContainsFunc(g.Tasks, func(t *api.Task) bool { return !a.info.Capabilities(t.Driver).MustInitiateNetwork })
}

func (a *alloc) resolver(u upstream, to target) *resolver {
	return &resolver{mesh: a.mesh, target: to, tell: func(err error) {
		a.info.Publish(time.Now(), event.Notice{Text: fmt.Sprintf("%s: upstream %s: %v", a.info.Alloc.Name, u.at, err)})
	}}
}
