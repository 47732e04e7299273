package reach_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/reach"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outsider has tasks that reach this machine at an address, which is one of the
// loopback interface here.
type outsider struct {
	drivers.Driver
	machine drivers.Machine
	err     error
}

func (o outsider) Machine(context.Context) (drivers.Machine, error) { return o.machine, o.err }

func (outsider) Outside(config map[string]any) (outside bool, ports []string) {
	labels, _ := config["ports"].([]string)
	return config["network_mode"] != "host", labels
}

func hooksOf(o outsider) *reach.Hooks {
	return reach.New(reach.Of(map[string]drivers.Driver{"docker": o, "raw_exec": nil}))
}

func group(tasks ...*api.Task) *api.TaskGroup { return &api.TaskGroup{Name: new("g"), Tasks: tasks} }

func allocOf(g *api.TaskGroup, id string, ports ...taskenv.Port) hooks.Alloc {
	return hooks.Alloc{Alloc: &event.Alloc{ID: id}, Group: g, Ports: ports}
}

func taskOf(t *api.Task, alloc string) hooks.Task {
	return hooks.Task{Alloc: &event.Alloc{ID: alloc}, Task: t}
}

var here = drivers.Machine{Address: "127.0.0.2", Here: true}

func TestForward(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
	if probe, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0"); err != nil {
		t.Skipf("no second loopback address: %v", err)
	} else {
		_ = probe.Close()
	}
	h := hooksOf(outsider{machine: here})
	reader := &api.Task{Name: "reader", Driver: "docker"}
	first, second := h.Alloc(allocOf(group(reader), "1")), h.Alloc(allocOf(group(reader), "2"))
	from := taskenv.Endpoint{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}
	at := h.View(taskOf(reader, "1"))(from)
	if again := h.View(taskOf(reader, "2"))(from); again != at || at.Host != "127.0.0.2" {
		t.Fatalf("it is at %v, then at %v", at, again)
	}
	fetch := func() (string, error) {
		conn, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(t.Context(), "tcp", (&net.TCPAddr{IP: net.ParseIP(at.Host), Port: at.Port}).String())
		if err != nil {
			return "", err
		}
		defer conn.Close()
		text, err := io.ReadAll(conn)
		return string(text), err
	}
	if got, err := fetch(); got != "hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	first.(hooks.AllocShutdown).Shutdown()
	if got, err := fetch(); got != "hello" || err != nil {
		t.Errorf("for the second allocation: got %q, %v", got, err)
	}
	if err := second.(hooks.AllocPostrun).Postrun(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(); err == nil {
		t.Error("the forward outlives its allocations")
	}
	<-served
}

// Ports that a container publishes, and addresses that are not this machine's,
// need no forward.
func TestNoForward(t *testing.T) {
	t.Parallel()
	h := hooksOf(outsider{machine: here})
	server := &api.Task{Name: "server", Driver: "docker", Config: map[string]any{"ports": []string{"http"}}}
	a := h.Alloc(allocOf(group(server), "1", taskenv.Port{Label: "http", Value: 25000, HostIP: "127.0.0.1"}))
	defer a.(hooks.AllocShutdown).Shutdown()
	view := h.View(taskOf(server, "1"))
	for from, want := range map[taskenv.Endpoint]taskenv.Endpoint{
		{Host: "127.0.0.1", Port: 25000}:      {Host: "127.0.0.2", Port: 25000},
		{Host: "127.0.0.1"}:                   {Host: "127.0.0.2"},
		{Host: "10.1.2.3", Port: 25000}:       {Host: "10.1.2.3", Port: 25000},
		{Host: "db.example.com", Port: 25000}: {Host: "db.example.com", Port: 25000},
	} {
		if got := view(from); got != want {
			t.Errorf("%v is at %v, want %v", from, got, want)
		}
	}
	inside := hooksOf(outsider{machine: drivers.Machine{Address: "host.docker.internal"}})
	if got := inside.View(taskOf(server, "1"))(taskenv.Endpoint{Host: "::1", Port: 5432}); got != (taskenv.Endpoint{Host: "host.docker.internal", Port: 5432}) {
		t.Errorf("from a virtual machine it is at %v", got)
	}
}

// A port is published until the last allocation that publishes it has ended.
func TestPublishedPortIsFreed(t *testing.T) {
	t.Parallel()
	if probe, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0"); err != nil {
		t.Skipf("no second loopback address: %v", err)
	} else {
		_ = probe.Close()
	}
	h := hooksOf(outsider{machine: here})
	server := &api.Task{Name: "server", Driver: "docker", Config: map[string]any{"ports": []string{"http"}}}
	port := taskenv.Port{Label: "http", Value: 25001, HostIP: "127.0.0.1"}
	first, second := h.Alloc(allocOf(group(server), "1", port)), h.Alloc(allocOf(group(server), "2", port))
	reader := &api.Task{Name: "reader", Driver: "docker"}
	third := h.Alloc(allocOf(group(reader), "3"))
	defer third.(hooks.AllocShutdown).Shutdown()
	view := h.View(taskOf(reader, "3"))
	from, published := taskenv.Endpoint{Host: "127.0.0.1", Port: 25001}, taskenv.Endpoint{Host: "127.0.0.2", Port: 25001}
	first.(hooks.AllocShutdown).Shutdown()
	first.(hooks.AllocShutdown).Shutdown() // counts once
	if got := view(from); got != published {
		t.Errorf("while the second allocation publishes it, it is at %v", got)
	}
	second.(hooks.AllocShutdown).Shutdown()
	if got := view(from); got == published || got.Host != "127.0.0.2" {
		t.Errorf("once nothing publishes it, it is at %v, without a forward", got)
	}
}

func TestTasksOfTheMachine(t *testing.T) {
	t.Parallel()
	h := hooksOf(outsider{machine: here})
	for _, task := range []*api.Task{
		{Driver: "raw_exec"},
		{Driver: "mock_driver"},
		{Driver: "docker", Config: map[string]any{"network_mode": "host"}},
	} {
		if h.View(taskOf(task, "1")) != nil || h.Task(taskOf(task, "1")) != nil {
			t.Errorf("a task of %s with %v has a view", task.Driver, task.Config)
		}
	}
	if h.Alloc(allocOf(group(&api.Task{Driver: "raw_exec"}), "1")) != nil {
		t.Error("there is a hook without need")
	}
}

// If the machine cannot be reached, addresses stay, and one notice says so.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	h := hooksOf(outsider{err: errors.New("rootless")})
	var notices []string
	task := taskOf(&api.Task{Driver: "docker"}, "1")
	task.Publish = func(_ time.Time, body event.Body) { notices = append(notices, body.(event.Notice).Text) }
	view, from := h.View(task), taskenv.Endpoint{Host: "127.0.0.1", Port: 5432}
	for range 2 {
		if got := view(from); got != from {
			t.Errorf("it is at %v", got)
		}
	}
	if want := "docker tasks cannot reach the server at 127.0.0.1: rootless"; strings.Join(notices, "\n") != want {
		t.Errorf("notices: %q", notices)
	}
}

// network is a group's own network, here that of the machine.
type network struct{ drivers.NetworkManager }

func (network) ListenIn(ctx context.Context, _ *drivers.NetworkIsolation, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

func (network) DialIn(context.Context, *drivers.NetworkIsolation, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

// If the machine cannot be reached from outside, forwards listen in the own
// network of the group, for its tasks.
func TestForwardInside(t *testing.T) {
	t.Parallel()
	h := hooksOf(outsider{err: errors.New("rootless")})
	var notices []string
	view := func(alloc string, config map[string]any) taskenv.View {
		task := taskOf(&api.Task{Name: "t", Driver: "docker", Config: config}, alloc)
		task.Publish = func(_ time.Time, body event.Body) { notices = append(notices, body.(event.Notice).Text) }
		return h.View(task)
	}
	info := allocOf(group(&api.Task{Name: "t", Driver: "docker"}), "1")
	info.Network = network{}
	info.Isolation = func() *drivers.NetworkIsolation {
		return &drivers.NetworkIsolation{Driver: "docker", IP: "10.0.0.2", Sockets: "/sockets"}
	}
	others := allocOf(info.Group, "4")
	others.Network = network{}
	others.Isolation = func() *drivers.NetworkIsolation {
		return &drivers.NetworkIsolation{Driver: "podman", IP: "10.0.0.3", Sockets: "/sockets"}
	}
	a, b, c := h.Alloc(info), h.Alloc(allocOf(info.Group, "2")), h.Alloc(others)
	from := taskenv.Endpoint{Host: "127.0.0.1", Port: 5432}
	at := view("1", nil)(from)
	if at.Host != "127.0.0.1" || at.Port == from.Port || view("1", nil)(from) != at || len(notices) > 0 {
		t.Errorf("it is at %v; notices %q", at, notices)
	}
	for name, got := range map[string]taskenv.Endpoint{
		"a group without one": view("2", nil)(from),
		"another network":     view("1", map[string]any{"network_mode": "mine"})(from),
		"another allocation":  view("3", nil)(from),
		"another driver's":    view("4", nil)(from),
	} {
		if got != from {
			t.Errorf("%s: it is at %v", name, got)
		}
	}
	if len(notices) != 1 {
		t.Errorf("notices %q", notices)
	}
	a.(hooks.AllocShutdown).Shutdown()
	b.(hooks.AllocShutdown).Shutdown()
	c.(hooks.AllocShutdown).Shutdown()
	if conn, err := net.Dial("tcp", net.JoinHostPort(at.Host, strconv.Itoa(at.Port))); err == nil {
		_ = conn.Close()
		t.Error("the forward outlives its allocation")
	}
}

// Ports that a container publishes, by its task, by its group's labels or by the
// group's own network, need no forward. Those of tasks outside of containers do.
func TestPublishedPorts(t *testing.T) {
	t.Parallel()
	if probe, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0"); err != nil {
		t.Skipf("no second loopback address: %v", err)
	} else {
		_ = probe.Close()
	}
	inside := &api.Task{Name: "inside", Driver: "docker", Config: map[string]any{"ports": []string{"http"}}}
	outside := &api.Task{Name: "outside", Driver: "docker", Config: map[string]any{"network_mode": "host", "ports": []string{"host"}}}
	raw := &api.Task{Name: "raw", Driver: "raw_exec"}
	const first = 25100
	for name, tt := range map[string]struct {
		own  bool // the group has a network of its own
		want []int
	}{
		"by its label, and its own": {false, []int{first, first + 3}},
		"all of the group":          {true, []int{first, first + 1, first + 2, first + 3}},
	} {
		h := hooksOf(outsider{machine: here})
		g := group(inside, outside, raw)
		info := allocOf(g, "1", taskenv.Port{Label: "http", Value: first}, taskenv.Port{Label: "host", Value: first + 1}, taskenv.Port{Label: "other", Value: first + 2})
		info.TaskPorts = map[string][]taskenv.Port{
			"inside": {{Value: first + 3}}, "outside": {{Value: first + 4}}, "raw": {{Value: first + 5}},
		}
		if tt.own {
			g.Networks = []*api.NetworkResource{{Mode: "bridge"}}
			info.Network = network{}
		}
		a := h.Alloc(info)
		if a.Name() != "reach" {
			t.Errorf("the hook is called %q", a.Name())
		}
		view := h.View(taskOf(inside, "1"))
		var published []int
		for port := first; port <= first+5; port++ {
			at := view(taskenv.Endpoint{Host: "127.0.0.1", Port: port})
			switch {
			case at.Host != "127.0.0.2":
				t.Errorf("%s: port %d is at %v", name, port, at)
			case at.Port == port:
				published = append(published, port)
			case at.Port != 40000+port%20000:
				t.Errorf("%s: the forward to port %d has port %d", name, port, at.Port)
			}
		}
		if !slices.Equal(published, tt.want) {
			t.Errorf("%s: published are %v, want %v", name, published, tt.want)
		}
		a.(hooks.AllocShutdown).Shutdown()
	}
}

// A forward whose usual port is in use has another one. One that cannot listen at
// all leaves the address, and says so.
func TestForwardAtAnotherPort(t *testing.T) {
	t.Parallel()
	reader := &api.Task{Name: "reader", Driver: "docker"}
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.2:45432")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	defer taken.Close()
	h := hooksOf(outsider{machine: here})
	a := h.Alloc(allocOf(group(reader), "1"))
	defer a.(hooks.AllocShutdown).Shutdown()
	from := taskenv.Endpoint{Host: "127.0.0.1", Port: 5432}
	if at := h.View(taskOf(reader, "1"))(from); at.Host != "127.0.0.2" || at.Port == 45432 || at.Port == from.Port {
		t.Errorf("it is at %v", at)
	}
	nowhere := hooksOf(outsider{machine: drivers.Machine{Address: "192.0.2.1", Here: true}})
	var notices []string
	task := taskOf(reader, "1")
	task.Publish = func(_ time.Time, body event.Body) { notices = append(notices, body.(event.Notice).Text) }
	if at := nowhere.View(task)(from); at != from {
		t.Errorf("without an address of this machine it is at %v", at)
	}
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "docker tasks cannot reach the server at 127.0.0.1: listen tcp4 192.0.2.1:0: ") {
		t.Errorf("notices: %q", notices)
	}
}

// The hook of a task gives it the view, and tells nothing of ports to which the
// task may never connect.
func TestHookOfATask(t *testing.T) {
	t.Parallel()
	from := taskenv.Endpoint{Host: "127.0.0.1", Port: 5432}
	for name, tt := range map[string]struct {
		outsider
		want taskenv.Endpoint
	}{
		"reached":     {outsider{machine: drivers.Machine{Address: "192.0.2.1"}}, taskenv.Endpoint{Host: "192.0.2.1", Port: 5432}},
		"not reached": {outsider{err: errors.New("rootless")}, from},
	} {
		task := taskOf(&api.Task{Driver: "docker"}, "1")
		task.Publish = func(_ time.Time, body event.Body) { t.Errorf("%s: it says %+v", name, body) }
		hook := hooksOf(tt.outsider).Task(task)
		var resp hooks.PrestartResponse
		if err := hook.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp); err != nil || hook.Name() != "reach" {
			t.Errorf("%s: hook %q, %v", name, hook.Name(), err)
		}
		if got := resp.View(from); got != tt.want {
			t.Errorf("%s: it is at %v, want %v", name, got, tt.want)
		}
	}
}
