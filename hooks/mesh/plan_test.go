package mesh

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// A plan has every part of the connect blocks, with its references replaced.
func TestPlan(t *testing.T) {
	t.Parallel()
	g := &api.TaskGroup{Name: new("g"), Services: []*api.Service{
		{Name: "none"},
		{Name: "native", Connect: &api.ConsulConnect{Native: true}},
		{Name: "mesh", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Mesh: &api.ConsulMeshConfigEntry{}}}},
		{Name: "plain", PortLabel: "9000", Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}}},
		{
			Name: "db-${NOMAD_ALLOC_INDEX}", PortLabel: "http", TaskName: "t",
			Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
				Port: "side", Tags: []string{"v${NOMAD_ALLOC_INDEX}"}, Meta: map[string]string{"k": "${NOMAD_ALLOC_INDEX}"},
				Proxy: &api.ConsulProxy{
					LocalServiceAddress: "127.0.0.${NOMAD_ALLOC_INDEX}",
					Upstreams: []*api.ConsulUpstream{
						{DestinationName: "x-${NOMAD_ALLOC_INDEX}", LocalBindPort: 1},
						{DestinationName: "y", LocalBindSocketPath: "/socket"},
						{DestinationName: "z", LocalBindAddress: "127.0.1.${NOMAD_ALLOC_INDEX}", LocalBindPort: 2},
					},
					Expose: &api.ConsulExposeConfig{Paths: []*api.ConsulExposePath{{ListenerPort: "health", LocalPathPort: 5}}},
				},
			}},
		},
		{Name: "own", PortLabel: "http", Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Proxy: &api.ConsulProxy{LocalServicePort: 7}}}},
		{Name: "gate-${NOMAD_ALLOC_INDEX}", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{
			Listeners: []*api.ConsulIngressListener{
				{Port: 80, Services: []*api.ConsulIngressService{{Name: "x-${NOMAD_ALLOC_INDEX}"}, {Name: "y"}}},
				{Port: 81},
				{Port: 8080, Services: []*api.ConsulIngressService{{Name: "y"}}},
				{Port: 9090, Services: []*api.ConsulIngressService{{Name: "z"}}},
			},
		}}}},
	}}
	ports := []taskenv.Port{
		{Label: "http", Value: 20001, To: 8080, HostIP: "10.0.0.1"}, {Label: "health", Value: 20002, HostIP: "10.0.0.1"}, {Label: "z", Value: 20003, To: 9090},
	}
	env := taskenv.NewBuilder(nil, taskenv.AllocInfo{ID: "a", Index: 3}, &api.Job{ID: new("j"), Name: new("j")}, g, nil).Build()
	got, err := newPlan("a", g, ports, env)
	if err != nil {
		t.Fatal(err)
	}
	want := plan{
		sidecars: []sidecar{
			{of: "plain", id: "_nomad-task-a-group-g-plain-9000-sidecar-proxy", local: endpoint{"127.0.0.1", 9000}},
			{
				of: "db-3", id: "_nomad-task-a-group-g-db-3-http-sidecar-proxy", task: "t", port: "side", local: endpoint{"127.0.0.3", 8080},
				tags: []string{"v3"}, meta: map[string]string{"k": "3"},
			},
			{of: "own", id: "_nomad-task-a-group-g-own-http-sidecar-proxy", local: endpoint{"127.0.0.1", 7}},
		},
		upstreams: []upstream{{"db-3", "x-3", endpoint{"127.0.0.1", 1}}, {"db-3", "z", endpoint{"127.0.1.3", 2}}},
		exposed:   []exposed{{"t", ports[1], endpoint{"127.0.0.3", 5}}},
		gateways: []gateway{
			{upstream{"gate-3", "x-3", endpoint{"127.0.0.1", 80}}, 0},
			{upstream{"gate-3", "y", endpoint{"10.0.0.1", 20001}}, 8080},
			{upstream{"gate-3", "z", endpoint{"127.0.0.1", 20003}}, 9090},
		},
	}
	for i := range got.sidecars { // empty and absent ones are alike
		if len(got.sidecars[i].tags) == 0 {
			got.sidecars[i].tags = nil
		}
		if len(got.sidecars[i].meta) == 0 {
			got.sidecars[i].meta = nil
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(plan{}, sidecar{}, upstream{}, exposed{}, gateway{}, endpoint{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The port that leads to a listener of an ingress gateway is the one that is
// mapped to it, its own, or not known before the group has its ports.
func TestIngressPort(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		static, dynamic []api.Port
		want            int
	}{
		"no ports":               {nil, nil, 80},
		"others":                 {[]api.Port{{Value: 90}}, []api.Port{{To: 90}}, 80},
		"its own":                {[]api.Port{{Value: 80}}, []api.Port{{To: 80}}, 80},
		"its own, without to":    {[]api.Port{{Value: 80, To: -1}}, []api.Port{{To: 80}}, 80},
		"its own leads further":  {[]api.Port{{Value: 80, To: 90}}, []api.Port{{To: 80}}, 0},
		"a mapped one":           {[]api.Port{{Value: 8080, To: 80}}, nil, 8080},
		"a dynamic one":          {nil, []api.Port{{To: 80}}, 0},
		"one that is not mapped": {[]api.Port{{Value: 90, To: 0}}, []api.Port{{To: 80}}, 0},
	} {
		g := &api.TaskGroup{Networks: []*api.NetworkResource{{}, {ReservedPorts: tt.static, DynamicPorts: tt.dynamic}}}
		if got := IngressPort(80, g); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// The fixed port of a service is that of its proxy, or a static one.
func TestFixedPort(t *testing.T) {
	t.Parallel()
	g := &api.TaskGroup{Networks: []*api.NetworkResource{{
		ReservedPorts: []api.Port{{Label: "static", Value: 80}, {Label: "mapped", Value: 80, To: 8080}}, DynamicPorts: []api.Port{{Label: "dynamic"}},
	}}}
	proxy := func(port int) *api.ConsulConnect {
		return &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Proxy: &api.ConsulProxy{LocalServicePort: port}}}
	}
	for name, tt := range map[string]struct {
		service api.Service
		want    int
	}{
		"static":             {api.Service{PortLabel: "static"}, 80},
		"mapped":             {api.Service{PortLabel: "mapped"}, 8080},
		"dynamic":            {api.Service{PortLabel: "dynamic"}, 0},
		"a number":           {api.Service{PortLabel: "9000"}, 9000},
		"none":               {api.Service{}, 0},
		"native":             {api.Service{PortLabel: "static", Connect: &api.ConsulConnect{Native: true}}, 80},
		"a sidecar":          {api.Service{PortLabel: "static", Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}}}, 80},
		"a proxy":            {api.Service{PortLabel: "static", Connect: proxy(0)}, 80},
		"a proxy with a one": {api.Service{PortLabel: "static", Connect: proxy(7)}, 7},
	} {
		if got := FixedPort(&tt.service, g); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// A listener for all addresses of this machine listens at localhost.
func TestAtHome(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"0.0.0.0": "127.0.0.1:1", "::": "127.0.0.1:1", "127.0.0.2": "127.0.0.2:1", "::1": "[::1]:1", "localhost": "localhost:1",
	} {
		if got := (endpoint{host, 1}).atHome().String(); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// Only groups with sidecars or gateways are in the mesh.
func TestGroupsOutsideOfTheMesh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, services := range map[string][]*api.Service{
		"no services": nil, "no connect": {{Name: "s"}}, "native": {{Name: "s", Connect: &api.ConsulConnect{Native: true}}},
	} {
		if h := f.Alloc(hooks.Alloc{Group: &api.TaskGroup{Services: services}}); h != nil {
			t.Errorf("%s: it has a hook", name)
		}
	}
	if got := f.alloc("a", needs("db", 1)).Name(); got != "mesh" {
		t.Errorf("the hook is called %q", got)
	}
}

// A part that cannot be started is an error that names it, and nothing is left.
func TestErrorsOfStarts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	taken := f.serve(func(net.Conn) {})
	inUse := fmt.Sprintf("listen tcp %s: bind: address already in use", taken)
	unknown := needs("db", f.free())
	unknown.Connect.SidecarService.Port = "nope"
	exposes := needs("db", f.free())
	exposes.Connect.SidecarService.Proxy.Expose = &api.ConsulExposeConfig{Paths: []*api.ConsulExposePath{{ListenerPort: "taken", LocalPathPort: 1}}}
	sidecarInUse := needs("db", f.free())
	sidecarInUse.Connect.SidecarService.Port = "taken"
	gate := &api.Service{Name: "gate", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{
		Listeners: []*api.ConsulIngressListener{{Port: taken.port, Services: []*api.ConsulIngressService{{Name: "db"}}}},
	}}}}
	for want, s := range map[string]*api.Service{
		`sidecar of service "client": the group has no port "nope"`:           unknown,
		`sidecar of service "client": ` + inUse:                               sidecarInUse,
		`port "taken" that exposes a path: ` + inUse:                          exposes,
		`upstream "db" of service "client": ` + inUse:                         needs("db", taken.port),
		fmt.Sprintf(`ingress gateway "gate", port %d: %s`, taken.port, inUse): gate,
	} {
		a := f.alloc("a", s)
		a.info.Ports = []taskenv.Port{{Label: "http", Value: 1}, {Label: "taken", Value: taken.port, HostIP: taken.host}}
		if err := a.Prerun(t.Context()); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if len(a.stops) > 0 || len(f.catalog.Services(service.All)) > 0 {
			t.Errorf("%s: something is left", want)
		}
	}
}

// A port at which the task itself listens needs no forward to expose a path, and
// neither does one that the driver leads to the network of the group.
func TestExposedByTheTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	port := f.free()
	for name, tt := range map[string]struct {
		host    string
		local   endpoint
		driver  string // with a network of its own
		forward bool
	}{
		"the same address":    {localhost, endpoint{localhost, port}, "", false},
		"all addresses":       {anywhere, endpoint{localhost, port}, "", false},
		"another port":        {localhost, endpoint{localhost, port + 1}, "", true},
		"another address":     {localhost, endpoint{"127.0.0.9", port}, "", true},
		"the group's network": {localhost, endpoint{localhost, port + 1}, "raw_exec", false},
		"another driver's":    {localhost, endpoint{localhost, port + 1}, "docker", true},
	} {
		a := f.alloc("a", needs("db", 1))
		if tt.driver != "" {
			a.info.Isolation = func() *drivers.NetworkIsolation { return &drivers.NetworkIsolation{Driver: tt.driver, IP: "192.0.2.1"} }
		}
		err := a.expose(t.Context(), exposed{"t", taskenv.Port{Value: port, HostIP: tt.host}, tt.local})
		if err != nil || (len(a.stops) > 0) != tt.forward {
			t.Errorf("%s: %d forwards, %v", name, len(a.stops), err)
		}
		a.stop()
	}
}

// A service that will listen at the address of an upstream needs no forward,
// unless its tasks have networks of their own, or its sidecar has the address.
func TestDirectAddressOfTheJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.alloc("a", needs("db", 1))
	a.info.Job.TaskGroups = append(a.info.Job.TaskGroups, &api.TaskGroup{
		Name: new("other"), Tasks: []*api.Task{{Name: "t", Driver: "docker"}}, Services: []*api.Service{{Name: "db", PortLabel: "9000"}},
	})
	isolated := false
	a.info.Capabilities = func(driver string) drivers.Capabilities {
		return drivers.Capabilities{MustInitiateNetwork: isolated && driver == "docker"}
	}
	db := target{"default", "db"}
	check := func(what string, to target, at endpoint, want bool) {
		t.Helper()
		if got := a.direct(to, at); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	check("its port", db, endpoint{localhost, 9000}, true)
	check("another port", db, endpoint{localhost, 9001}, false)
	check("another address", db, endpoint{"127.0.0.2", 9000}, false)
	check("another service", target{"default", "cache"}, endpoint{localhost, 9000}, false)
	isolated = true
	check("in a network of its own", db, endpoint{localhost, 9000}, false)
	f.catalog.Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{
		ID: "1", ServiceName: "cache", Namespace: "default", AllocID: "b", Address: localhost, Port: 9100,
	}})
	cache := target{"default", "cache"}
	check("an instance", cache, endpoint{localhost, 9100}, true)
	check("in another namespace", target{"team", "cache"}, endpoint{localhost, 9100}, false)
	key := sidecarKey{"b", "cache"}
	f.setSidecar(key, dialAt(endpoint{localhost, 1}))
	check("one with a sidecar", cache, endpoint{localhost, 9100}, false)
	f.setSidecar(key, nil)
	check("when the sidecar is gone", cache, endpoint{localhost, 9100}, true)
}

// A listener to which no port of the group leads is at this machine, even if the
// group has a network of its own.
func TestGatewayWithoutAPort(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offer("db", "1", "db")
	port := f.free()
	a := f.alloc("a", &api.Service{Name: "gate", Connect: &api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{
		Listeners: []*api.ConsulIngressListener{{Port: port, Services: []*api.ConsulIngressService{{Name: "db"}}}},
	}}}})
	n := isolate(a)
	f.start(a)
	if got := f.read(endpoint{localhost, port}); got != "db" || len(n.at) > 0 {
		t.Errorf("it says %q; listeners in the network: %v", got, n.at)
	}
}

// The connections of an upstream that fail are told once, and again when they
// have worked in between.
func TestFailuresAreToldOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	up := endpoint{localhost, f.free()}
	f.start(f.alloc("a", needs("db", up.port)))
	for range 2 {
		withdraw := f.offer("db", "1", "db")
		if got := f.read(up); got != "db" {
			t.Errorf("it says %q", got)
		}
		withdraw()
		for range 2 {
			if got := f.read(up); got != "" {
				t.Errorf("without instances it says %q", got)
			}
		}
		if got, want := <-f.told, fmt.Sprintf(`a: upstream %s: service "db" has no healthy instance`, up); got != want || len(f.told) > 0 {
			t.Errorf("told %q, and %d more", got, len(f.told))
		}
	}
	down := f.free()
	f.catalog.Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{
		ID: "2", ServiceName: "gone", Namespace: "default", Address: localhost, Port: down,
	}})
	r := &resolver{mesh: f.Mesh, target: target{"default", "gone"}, tell: func(error) {}}
	want := fmt.Sprintf(`service "gone" cannot be reached: dial tcp %s: connect: connection refused`, endpoint{localhost, down})
	if conn, err := r.dial(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v, %v; want %s", conn, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	told := false
	r = &resolver{mesh: f.Mesh, target: target{"default", "gone"}, tell: func(error) { told = true }}
	if _, err := r.dial(ctx); err == nil || told {
		t.Errorf("at the end: %v, told: %t", err, told)
	}
}

// A sidecar is registered with everything that says where it is, and is said to
// be gone once.
func TestEventsOfSidecars(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	app := f.serve(func(conn net.Conn) { _, _ = io.WriteString(conn, "app") })
	port := f.free()
	s := &api.Service{Name: "db", PortLabel: fmt.Sprint(app.port), Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
		Port: "side", Meta: map[string]string{"k": "v"},
	}}}
	a := f.alloc("a", s)
	a.info.Ports = []taskenv.Port{{Label: "side", Value: port, HostIP: localhost}}
	var said []string
	a.info.Publish = func(_ time.Time, body event.Body) {
		if s, ok := body.(event.Service); ok {
			said = append(said, fmt.Sprintf("%s %s:%d %t", s.Name, s.Address, s.Port, s.Registered))
		}
	}
	if err := a.Prerun(t.Context()); err != nil {
		t.Fatal(err)
	}
	i := f.catalog.Services(service.All)[0]
	if i.Provider != "consul" || i.Meta["k"] != "v" || i.Port != port || f.sidecar(sidecarKey{"a", "db"}) == nil {
		t.Errorf("registered: %+v", i)
	}
	a.Prekill(t.Context())
	if got := f.read(endpoint{localhost, port}); got != "app" {
		t.Errorf("before its end the sidecar says %q", got)
	}
	if err := a.Postrun(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("db-sidecar-proxy 127.0.0.1:%d", port)
	if got, want := strings.Join(said, ", "), at+" true, "+at+" false"; got != want {
		t.Errorf("it said %s, want %s", got, want)
	}
	if f.sidecar(sidecarKey{"a", "db"}) != nil {
		t.Error("connections still go to the sidecar")
	}
}

// An update without a difference leaves the forwards as they are. One before the
// start, or after the end, starts nothing.
func TestUpdateWithoutEffect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.alloc("a", needs("db", f.free()))
	update := func(want string) {
		t.Helper()
		group := *a.group
		group.Services = []*api.Service{needs("db", group.Services[0].Connect.SidecarService.Proxy.Upstreams[0].LocalBindPort)}
		if want != "" {
			group.Services[0].Connect.SidecarService.Proxy.Expose = &api.ConsulExposeConfig{Paths: []*api.ConsulExposePath{{ListenerPort: "nope"}}}
		}
		err := a.Update(t.Context(), a.info.Job, &group)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	update("")
	if len(a.stops) > 0 {
		t.Error("it starts before its time")
	}
	if err := a.Prerun(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := f.catalog.Services(service.All)[0]
	update("")
	update(`service "client": the group has no port "nope", at which a path is exposed`)
	if after := f.catalog.Services(service.All); len(after) != 1 || after[0] != before || len(a.stops) != 2 {
		t.Errorf("registered: %+v; %d forwards", after, len(a.stops))
	}
	if err := a.Postrun(t.Context()); err != nil {
		t.Fatal(err)
	}
	update("")
	if len(a.stops) > 0 {
		t.Error("it starts after its end")
	}
}
