package mesh

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/forward"
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

// own returns the network of a task if that is the group's own, or nil. A service
// without a task is one of those in the network.
func (a *alloc) own(task string) *own {
	user, n := a.info.OwnNetwork()
	if n == nil {
		return nil
	}
	for _, t := range a.group.Tasks {
		if t.Name == task && t.Driver != n.Driver {
			return nil
		}
	}
	return &own{n, user}
}

// startSidecar leads a port of this machine to a service of the group, and
// registers it.
func (a *alloc) startSidecar(ctx context.Context, s sidecar) error {
	at, dial := endpoint{host: localhost}, dialAt(s.local)
	if o := a.own(s.task); o != nil { // where the driver has forwarded the ports of the group
		dial = o.dial(s.local)
	} else if p, ok := service.Labeled(s.port, a.info.Ports); ok {
		at = endpoint{p.HostIP, p.Value}
	} else if s.port != "" {
		return fmt.Errorf("the group has no port %q", s.port)
	}
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
		ServiceRegistration: a.info.Registration(s.id, s.of+SidecarSuffix, at.host, at.port, s.tags),
		Provider:            "consul", Meta: s.meta,
	}
	a.mesh.cfg.Catalog.Register(i)
	a.registered = append(a.registered, i)
	a.info.PublishService(&i.ServiceRegistration, true)
	return nil
}

// expose leads a port of the group to one of a task.
func (a *alloc) expose(ctx context.Context, e exposed) error {
	at, begin, dial := endpoint{e.port.HostIP, e.port.Value}, start, dialAt(e.local)
	if o := a.own(e.task); o != nil { // the driver leads the port there
		if o.user == nil {
			return nil
		}
		at, begin, dial = endpoint{anywhere, e.port.Bind()}, o.start, o.dial(e.local)
	}
	if at.port == e.local.port && (at.host == anywhere || at.host == e.local.host) { // the task listens there itself
		return nil
	}
	return a.keep(begin(ctx, at, dial))
}

// keep keeps a forward until the end of the allocation.
func (a *alloc) keep(f *forward.Forward, err error) error {
	if err == nil {
		a.stops = append(a.stops, f.Stop)
	}
	return err
}

// upstream leads an address of each network in which the group has tasks to a
// service.
func (a *alloc) upstream(ctx context.Context, u upstream) error {
	o := a.own("")
	if o != nil && o.user != nil {
		if err := a.keep(o.start(ctx, u.at, a.resolver(u).dial)); err != nil {
			return err
		}
	} else if o != nil {
		a.notice("%s: nothing listens at upstream %s in the network of the group: %s opens no sockets there", a.info.Alloc.Name, u.at, o.Driver)
	}
	if a.outside(a.group) {
		return a.listen(ctx, u)
	}
	return nil
}

// gateway leads a port of this machine to a service. If the driver leads the port
// to the network of the group, the forward is there.
func (a *alloc) gateway(ctx context.Context, g gateway) error {
	if o := a.own(""); o != nil && o.user != nil && g.inside > 0 {
		return a.keep(o.start(ctx, endpoint{anywhere, g.inside}, a.resolver(g.upstream).dial))
	}
	return a.listen(ctx, g.upstream)
}

// listen leads an address of this machine to a service.
func (a *alloc) listen(ctx context.Context, u upstream) error {
	to, at := a.target(u), u.at.atHome()
	if a.direct(to, at) {
		return nil
	}
	release, err := a.mesh.machine.share(ctx, at, to, a.info.Alloc.Name, a.resolver(u).dial)
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

// outside reports whether tasks of a group use the network of this machine.
func (a *alloc) outside(g *api.TaskGroup) bool {
	return slices.ContainsFunc(g.Tasks, func(t *api.Task) bool { return !a.info.Capabilities(t.Driver).MustInitiateNetwork })
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
