package mesh

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"taskrun/engine/leaf/forward"
)

// dialTimeout is how long connecting to an instance may take, as in Envoy.
const dialTimeout = 5 * time.Second

// machine is the network of this machine. Tasks that would have networks of their
// own in Nomad share it here, so one listener serves all upstreams that have the
// same address and lead to the same service.
type machine struct {
	mu     sync.Mutex
	shared map[endpoint]*shared // by address
}

// shared is a forward that several allocations use.
type shared struct {
	*forward.Forward

	target target
	owner  string
	users  int
}

// target identifies a service.
type target struct{ namespace, service string }

// share starts a forward at an address, or joins the one that leads to the same
// service. The owner is for messages. Call release once it is not needed.
func (m *machine) share(ctx context.Context, at endpoint, to target, owner string, dial forward.Dial) (release func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shared[at]
	switch {
	case s == nil:
		f, err := start(ctx, at, dial)
		if err != nil {
			return nil, err
		}
		s = &shared{Forward: f, target: to, owner: owner}
		m.shared[at] = s
	case s.target != to:
		return nil, fmt.Errorf("%s leads to service %q for %s: choose another local_bind_port", at, s.target.service, s.owner)
	}
	s.users++
	return sync.OnceFunc(func() { m.release(at, s) }), nil
}

func (m *machine) release(at endpoint, s *shared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(m.shared, at)
		s.Stop()
	}
}

// start starts a forward at an address of this machine.
func start(ctx context.Context, at endpoint, dial forward.Dial) (*forward.Forward, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, err
	}
	return forward.Start(l, dial), nil
}

// dialAt opens connections on this machine.
func dialAt(at endpoint) forward.Dial {
	d := net.Dialer{Timeout: dialTimeout}
	return func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", at.String()) }
}

// atHome replaces an unspecified address, which others could reach from outside
// of this machine, by localhost.
func (e endpoint) atHome() endpoint {
	if ip, err := netip.ParseAddr(e.host); err == nil && ip.IsUnspecified() {
		e.host = localhost
	}
	return e
}
