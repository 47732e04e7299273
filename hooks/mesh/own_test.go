package mesh

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/service"
	"taskrun/jobspec/taskenv"
)

// network is a network of a group's own: its addresses are not those of this
// machine.
type network struct {
	drivers.NetworkManager

	mu sync.Mutex
	at map[string]string // where this machine really has its listeners
}

func (n *network) ListenIn(ctx context.Context, _ *drivers.NetworkIsolation, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at[address] != "" {
		_ = l.Close()
		return nil, fmt.Errorf("%s is in use", address)
	}
	n.at[address] = l.Addr().String()
	return l, nil
}

func (n *network) DialIn(ctx context.Context, _ *drivers.NetworkIsolation, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", n.real(address).String())
}

func (n *network) real(address string) endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	var e endpoint
	host, port, _ := net.SplitHostPort(n.at[address])
	_, _ = fmt.Sscan(port, &e.port)
	e.host = host
	return e
}

// isolate puts an allocation into a network of its own, which the engine can use.
func isolate(a *alloc) *network {
	n := &network{at: map[string]string{}}
	a.info.Network = n
	a.info.Isolation = func() *drivers.NetworkIsolation {
		return &drivers.NetworkIsolation{Driver: "docker", IP: "192.0.2.1", Sockets: "/sockets"}
	}
	a.info.Capabilities = func(string) drivers.Capabilities { return drivers.Capabilities{MustInitiateNetwork: true} }
	return n
}

// Upstreams, exposed paths and ingress gateways listen in the network of the
// group, and its services are reached at its loopback address.
func TestOwnNetwork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	app := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, "app") })
	s := needs("db", 80)
	s.PortLabel = "9001"
	s.Connect.SidecarService.Proxy.Expose = &api.ConsulExposeConfig{Paths: []*api.ConsulExposePath{
		{ListenerPort: "health", LocalPathPort: 9001}, {ListenerPort: "own", LocalPathPort: 9002},
	}}
	gateway := &api.Service{Name: "gate", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{
		Listeners: []*api.ConsulIngressListener{{Port: 8080, Services: []*api.ConsulIngressService{{Name: "db"}}}, {Port: f.free()}},
	}}}}
	a := f.alloc("a", s, gateway)
	a.info.Ports = []taskenv.Port{
		{Label: "health", Value: 1, To: 9100, HostIP: "127.0.0.1"},
		{Label: "own", Value: 2, To: 9002, HostIP: "127.0.0.1"},
		{Label: "gate", Value: 3, To: 8080, HostIP: "127.0.0.1"},
	}
	n := isolate(a)
	n.at["127.0.0.1:9001"] = app.String()
	f.start(a)
	for address, want := range map[string]string{"127.0.0.1:80": "db", "0.0.0.0:9100": "app", "0.0.0.0:8080": "db"} {
		if got := f.read(n.real(address)); got != want {
			t.Errorf("%s says %q, not %q", address, got, want)
		}
	}
	if len(n.at) != 4 {
		t.Errorf("listeners: %v", n.at)
	}
	i := f.catalog.Services(service.Named("client-sidecar-proxy"))[0]
	if got := f.read(endpoint{i.Address, i.Port}); got != "app" {
		t.Errorf("the sidecar says %q", got)
	}
}

// A group with tasks in both networks has its upstreams in both.
func TestBothNetworks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	up := endpoint{localhost, f.free()}
	a := f.alloc("a", needs("db", up.port))
	n := isolate(a)
	a.group.Tasks = append(a.group.Tasks, &api.Task{Name: "inside", Driver: "docker"})
	a.info.Capabilities = func(driver string) drivers.Capabilities {
		return drivers.Capabilities{MustInitiateNetwork: driver == "docker"}
	}
	f.start(a)
	if here, there := f.read(up), f.read(n.real(up.String())); here != "db" || there != "db" {
		t.Errorf("they say %q and %q", here, there)
	}
}

// An address in use is an error. If the engine cannot listen in the network, a
// notice says so.
func TestOwnNetworkFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.alloc("a", needs("db", 80))
	isolate(a).at["127.0.0.1:80"] = "somebody"
	if err := a.Prerun(t.Context()); err == nil || err.Error() != `upstream "db" of service "client": 127.0.0.1:80 is in use` {
		t.Errorf("error %v", err)
	}
	if len(f.catalog.Services(service.All)) > 0 || len(a.stops) > 0 {
		t.Error("something is left")
	}
	b := f.alloc("b", needs("db", 80))
	isolate(b)
	b.info.Network = nil
	f.start(b)
	if got := <-f.told; !strings.Contains(got, "nothing listens at upstream 127.0.0.1:80 in the network of the group: docker opens no sockets there") {
		t.Errorf("told %q", got)
	}
}

// A listener of an ingress gateway leads to its service, at the port of the group
// that has its number, or at its own. A path is exposed at a port of the group.
func TestIngressAndExpose(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	app := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, "app") })
	own, mapped, health := f.free(), f.free(), f.free()
	listener := func(port int) *api.ConsulIngressListener {
		return &api.ConsulIngressListener{Port: port, Services: []*api.ConsulIngressService{{Name: "db"}, {Name: "other"}}}
	}
	a := f.alloc("a",
		&api.Service{Name: "gate", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{
			Listeners: []*api.ConsulIngressListener{listener(own), listener(8080)},
		}}}},
		&api.Service{Name: "app", PortLabel: fmt.Sprint(app.port), Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
			Proxy: &api.ConsulProxy{Expose: &api.ConsulExposeConfig{Paths: []*api.ConsulExposePath{{ListenerPort: "health", LocalPathPort: app.port}}}},
		}}},
	)
	a.info.Ports = []taskenv.Port{{Label: "in", Value: mapped, To: 8080, HostIP: "127.0.0.1"}, {Label: "health", Value: health, To: -1, HostIP: "127.0.0.1"}}
	f.start(a)
	for port, want := range map[int]string{own: "db", mapped: "db", health: "app"} {
		if got := f.read(endpoint{localhost, port}); got != want {
			t.Errorf("port %d says %q, not %q", port, got, want)
		}
	}
	a.info.Ports = nil
	if _, err := a.read(); err == nil || err.Error() != `service "app": the group has no port "health", at which a path is exposed` {
		t.Errorf("error %v", err)
	}
}
