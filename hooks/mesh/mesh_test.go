package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits every wait.
const patience = time.Minute

// fixture is an engine with services and allocations.
type fixture struct {
	*testing.T
	*Mesh

	catalog service.Catalog
	told    chan string // notices
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, told: make(chan string, 100)}
	f.Mesh = New(Config{Catalog: &f.catalog, Healthy: func(namespace, name string) []*service.Instance {
		list := f.catalog.Services(func(i *service.Instance) bool { return i.ServiceName == name && i.Namespace == namespace })
		return slices.DeleteFunc(list, func(i *service.Instance) bool { return !f.catalog.Passes(i) })
	}})
	return f
}

// offer registers an instance of a service that greets with a text.
func (f *fixture) offer(name, alloc, greeting string) (withdraw func()) {
	f.Helper()
	at := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, greeting) })
	i := &service.Instance{ServiceRegistration: api.ServiceRegistration{
		ID: alloc + name, ServiceName: name, Namespace: "default", AllocID: alloc, Address: at.host, Port: at.port,
	}}
	f.catalog.Register(i)
	return func() { f.catalog.Deregister(i.ID) }
}

// serve handles connections until the test ends.
func (f *fixture) serve(handle func(net.Conn)) endpoint {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	f.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return endpoint{"127.0.0.1", l.Addr().(*net.TCPAddr).Port}
}

// alloc returns the hook of an allocation with services.
func (f *fixture) alloc(id string, services ...*api.Service) *alloc {
	g := &api.TaskGroup{Name: new("g"), Services: services, Tasks: []*api.Task{{Name: "t", Driver: "raw_exec"}}}
	job := &api.Job{ID: new("j"), Name: new("j"), Namespace: new("default"), TaskGroups: []*api.TaskGroup{g}}
	node := &taskenv.Node{ID: "node"}
	hook := f.Alloc(hooks.Alloc{
		Alloc: &event.Alloc{ID: id, Job: "j", Group: "g", Name: id}, Job: job, Group: g, Node: node,
		Ports:        []taskenv.Port{{Label: "http", Value: 1, To: 0, HostIP: "127.0.0.1"}},
		Isolation:    func() *drivers.NetworkIsolation { return nil },
		Capabilities: func(string) drivers.Capabilities { return drivers.Capabilities{} },
		Env:          func() *taskenv.Env { return taskenv.NewBuilder(node, taskenv.AllocInfo{ID: id}, job, g, nil).Build() },
		Publish: func(_ time.Time, body event.Body) {
			if n, ok := body.(event.Notice); ok {
				f.told <- n.Text
			}
		},
	})
	if hook == nil {
		f.Fatal("the group is in no mesh")
	}
	return hook.(*alloc)
}

// start starts the forwards of an allocation until the test ends.
func (f *fixture) start(a *alloc) {
	f.Helper()
	if err := a.Prerun(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := a.Postrun(context.Background()); err != nil {
			f.Error(err)
		}
	})
}

// needs is a service with an upstream.
func needs(destination string, port int) *api.Service {
	return &api.Service{Name: "client", PortLabel: "http", Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
		Proxy: &api.ConsulProxy{Upstreams: []*api.ConsulUpstream{{DestinationName: destination, LocalBindPort: port}}},
	}}}
}

// free returns an unused port.
func (f *fixture) free() int {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// read returns everything that an address says.
func (f *fixture) read(at endpoint) string {
	f.Helper()
	conn, err := net.DialTimeout("tcp", at.String(), patience)
	if errors.Is(err, syscall.ECONNRESET) { // closed at once
		return ""
	}
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	text, err := io.ReadAll(conn)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Fatal(err)
	}
	return string(text)
}

// An upstream takes the healthy instances in turn and follows changes. Without one
// it closes connections, and says so once.
func TestUpstreamFollowsService(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	up := endpoint{localhost, f.free()}
	f.start(f.alloc("a", needs("db", up.port)))
	for range 2 {
		if got := f.read(up); got != "" {
			t.Errorf("without instances it says %q", got)
		}
	}
	if got := <-f.told; !strings.Contains(got, `service "db" has no healthy instance`) || len(f.told) > 0 {
		t.Errorf("told %q, and %d more", got, len(f.told))
	}
	withdraw := f.offer("db", "1", "one")
	f.offer("db", "2", "two")
	if got := f.read(up) + f.read(up); got != "onetwo" && got != "twoone" {
		t.Errorf("two connections say %q", got)
	}
	withdraw()
	f.catalog.SetCheck("2", api.AllocCheckStatus{ID: "c", Service: "db", Status: "failure"})
	if got := f.read(up); got != "" {
		t.Errorf("a critical instance says %q", got)
	}
	f.offer("db", "3", "three")
	if got := f.read(up); got != "three" {
		t.Errorf("a new instance says %q", got)
	}
}

// An instance that cannot be reached is skipped.
func TestUpstreamSkipsUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	up := endpoint{localhost, f.free()}
	f.start(f.alloc("a", needs("db", up.port)))
	f.catalog.Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{
		ID: "0", ServiceName: "db", Namespace: "default", Address: "127.0.0.1", Port: f.free(),
	}})
	f.offer("db", "1", "one")
	for range 4 {
		if got := f.read(up); got != "one" {
			t.Errorf("it says %q", got)
		}
	}
}

// A sidecar is registered and leads to its service; upstreams go there.
func TestSidecar(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	app := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, "app") })
	a := f.alloc("a", &api.Service{
		Name: "db", PortLabel: fmt.Sprint(app.port), Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Tags: []string{"v1"}}},
	})
	f.start(a)
	list := f.catalog.Services(service.All)
	if len(list) != 1 || list[0].ServiceName != "db-sidecar-proxy" || list[0].AllocID != "a" || list[0].Tags[0] != "v1" {
		t.Fatalf("registered: %+v", list)
	}
	if got := f.read(endpoint{list[0].Address, list[0].Port}); got != "app" {
		t.Errorf("the sidecar says %q", got)
	}
	f.catalog.Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{
		ID: "db", ServiceName: "db", Namespace: "default", AllocID: "a", Address: "192.0.2.1", Port: 1, // cannot be reached from here
	}})
	up := endpoint{localhost, f.free()}
	f.start(f.alloc("b", needs("db", up.port)))
	if got := f.read(up); got != "app" {
		t.Errorf("the upstream says %q", got)
	}
	a.Prekill(t.Context())
	if list := f.catalog.Services(service.Named("db-sidecar-proxy")); len(list) > 0 {
		t.Errorf("still registered: %+v", list)
	}
}

// A service in a network of its own is reached there; its upstreams are not on
// this machine.
func TestInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	app := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, "app") })
	s := needs("db", 1) // a port that an ordinary user cannot have
	s.PortLabel = fmt.Sprint(app.port)
	s.Connect.SidecarService.Proxy.LocalServiceAddress = "192.0.2.1" // cannot be reached from here
	s.Connect.SidecarService.Port = "http"
	a := f.alloc("a", s)
	a.info.Isolation = func() *drivers.NetworkIsolation { return &drivers.NetworkIsolation{Driver: "docker", IP: app.host} }
	a.info.Capabilities = func(string) drivers.Capabilities { return drivers.Capabilities{MustInitiateNetwork: true} }
	f.start(a)
	i := f.catalog.Services(service.Named("client-sidecar-proxy"))[0]
	if got := f.read(endpoint{i.Address, i.Port}); got != "app" {
		t.Errorf("the sidecar says %q", got)
	}
}

// Allocations share an address that leads to the same service, until the last
// one has ended; another service cannot have it.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	up := endpoint{localhost, f.free()}
	first, second := f.alloc("a", needs("db", up.port)), f.alloc("b", needs("db", up.port))
	for _, a := range []*alloc{first, second} {
		if err := a.Prerun(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	err := f.alloc("c", needs("cache", up.port)).Prerun(t.Context())
	if want := fmt.Sprintf(`upstream "cache" of service "client": %s leads to service "db" for a: choose another local_bind_port`, up); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if err := first.Postrun(t.Context()); err != nil {
		t.Error(err)
	}
	if got := f.read(up); got != "db" {
		t.Errorf("after the end of one it says %q", got)
	}
	second.Shutdown()
	if conn, err := net.Dial("tcp", up.String()); err == nil {
		_ = conn.Close()
		t.Error("somebody still listens")
	}
	if list := f.catalog.Services(service.Named("client-sidecar-proxy")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

// A service that has the address of the upstream itself needs no forward.
func TestDirectAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "", "db")
	at := f.catalog.Services(service.All)[0]
	f.start(f.alloc("a", needs("db", at.Port)))
	if got := f.read(endpoint{at.Address, at.Port}); got != "db" {
		t.Errorf("it says %q", got)
	}
}

// A mesh whose tasks do not run registers sidecars and opens no socket.
func TestIdle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cfg.Idle = true
	s := needs("db", 1) // a port that an ordinary user cannot have
	s.PortLabel = "8080"
	f.start(f.alloc("a", s))
	if list := f.catalog.Services(service.All); len(list) != 1 || list[0].Port != 8080 {
		t.Errorf("registered: %+v", list)
	}
}

// An update of the job replaces the forwards that differ.
func TestUpdate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	f.offer("cache", "1", "cache")
	up := endpoint{localhost, f.free()}
	a := f.alloc("a", needs("db", up.port))
	f.start(a)
	if got := f.read(up); got != "db" {
		t.Errorf("it says %q", got)
	}
	group := *a.group
	group.Services = []*api.Service{needs("cache", up.port)}
	if err := a.Update(t.Context(), a.info.Job, &group); err != nil {
		t.Fatal(err)
	}
	if got := f.read(up); got != "cache" {
		t.Errorf("after the update it says %q", got)
	}
}
