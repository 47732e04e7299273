// Package reach lets tasks in networks of their own, such as containers, reach
// what this machine serves at its loopback address: they see the address at
// which they reach the machine instead.
//
//	a port that a container publishes   keeps its number: the engine forwards it there, too
//	any other port                      a forward leads to it, from a port of its own, because
//	                                    a task may yet listen on the same port of all addresses
//
// If tasks cannot reach the machine at all, such as those of a rootless engine,
// the forward listens at the loopback address of their group's own network.
//
// Forwards listen at that one address only, carry TCP, and end with the last
// allocation that needs them.
package reach

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/forward"
	"taskrun/hooks"
	"taskrun/hooks/network"
	"taskrun/jobspec/taskenv"
)

// askTime is how long an engine may take to say where it is.
const askTime = 30 * time.Second

// Hooks makes the hooks of one engine.
type Hooks struct {
	outsider func(driver string) drivers.Outsider

	mu        sync.Mutex
	published map[int]int             // how many allocations have a container that publishes a port
	forwards  map[passage]*forwarding // by where they lead from
	allocs    map[string]*alloc       // by ID
	told      map[string]bool         // notices that were published
}

// passage is a port of the loopback address, and where it is needed as well: at
// an address of this machine, or in the own network of an allocation's group.
type passage struct {
	target taskenv.Endpoint
	host   string
	inside string // ID of the allocation
}

type forwarding struct {
	*forward.Forward

	users map[string]bool // IDs of allocations
}

// New returns the hooks of an engine. The function returns a driver if its
// tasks may have networks of their own, or else nil.
func New(outsider func(driver string) drivers.Outsider) *Hooks {
	return &Hooks{outsider: outsider, published: map[int]int{}, forwards: map[passage]*forwarding{}, allocs: map[string]*alloc{}, told: map[string]bool{}}
}

// Of returns the function for New, given all drivers.
func Of(all map[string]drivers.Driver) func(driver string) drivers.Outsider {
	return func(driver string) drivers.Outsider {
		o, _ := all[driver].(drivers.Outsider)
		return o
	}
}

// Alloc makes the hook of an allocation, or returns nil if all its tasks share
// the machine's network. It is a hooks.AllocFactory.
func (h *Hooks) Alloc(info hooks.Alloc) hooks.AllocHook {
	a := &alloc{hooks: h, id: info.Alloc.ID, info: info}
	outsiders := 0
	for _, t := range info.Group.Tasks {
		o := h.outsider(t.Driver)
		if o == nil {
			continue
		}
		outsiders++
		outside, labels := o.Outside(t.Config)
		if !outside {
			continue
		}
		for _, p := range info.TaskPorts[t.Name] {
			a.ports = append(a.ports, p.Value)
		}
		for _, label := range labels {
			for _, p := range info.Ports {
				if p.Label == label {
					a.ports = append(a.ports, p.Value)
				}
			}
		}
	}
	if outsiders == 0 {
		return nil
	}
	if info.Network != nil && network.Wanted(info.Group) {
		for _, p := range info.Ports {
			a.ports = append(a.ports, p.Value)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range a.ports {
		h.published[p]++
	}
	h.allocs[a.id] = a
	return a
}

// alloc is the hook of an allocation.
type alloc struct {
	hooks *Hooks
	id    string
	info  hooks.Alloc
	ports []int // that its containers publish
	end   sync.Once
}

// Name implements hooks.AllocHook.
func (a *alloc) Name() string { return "reach" }

// Postrun ends the forwards that no other allocation needs.
func (a *alloc) Postrun(context.Context) error {
	a.Shutdown()
	return nil
}

// Shutdown does the same: the next engine starts them again.
func (a *alloc) Shutdown() { a.end.Do(func() { a.hooks.release(a) }) }

func (h *Hooks) release(a *alloc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range a.ports {
		if h.published[p]--; h.published[p] == 0 {
			delete(h.published, p)
		}
	}
	delete(h.allocs, a.id)
	for at, f := range h.forwards {
		if delete(f.users, a.id); len(f.users) == 0 {
			f.Stop()
			delete(h.forwards, at)
		}
	}
}

// View returns where a task sees addresses of this machine, or nil if it sees
// them where the machine does.
func (h *Hooks) View(t hooks.Task) taskenv.View {
	return h.view(t, func(e taskenv.Endpoint, err error) { h.tell(t, e, err) })
}

func (h *Hooks) view(t hooks.Task, failed func(taskenv.Endpoint, error)) taskenv.View {
	o := h.outsider(t.Task.Driver)
	if o == nil {
		return nil
	}
	if outside, _ := o.Outside(t.Task.Config); !outside {
		return nil
	}
	return func(e taskenv.Endpoint) taskenv.Endpoint {
		if ip, err := netip.ParseAddr(e.Host); err != nil || !ip.IsLoopback() {
			return e
		}
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		defer cancel()
		m, err := o.Machine(ctx)
		if err == nil {
			e, err = h.seen(ctx, e, m, t.Alloc.ID)
		} else if there, ok := h.inside(ctx, e, t); ok {
			return there
		}
		if err != nil {
			failed(e, err)
		}
		return e
	}
}

// seen returns where a task of an allocation reaches an endpoint of the loopback
// address, and makes sure that it does.
func (h *Hooks) seen(ctx context.Context, e taskenv.Endpoint, m drivers.Machine, alloc string) (taskenv.Endpoint, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !m.Here || e.Port == 0 || h.published[e.Port] > 0 {
		return taskenv.Endpoint{Host: m.Address, Port: e.Port}, nil
	}
	return h.forward(passage{e, m.Address, ""}, alloc, func(address string) (net.Listener, error) {
		return new(net.ListenConfig).Listen(ctx, "tcp4", address)
	})
}

// inside is seen for a task that cannot reach this machine, but is in the network
// of its group: the forward listens there.
func (h *Hooks) inside(ctx context.Context, e taskenv.Endpoint, t hooks.Task) (taskenv.Endpoint, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.allocs[t.Alloc.ID]
	if _, another := t.Task.Config["network_mode"]; a == nil || another || e.Port == 0 {
		return e, false
	}
	user, n := a.info.OwnNetwork()
	if user == nil || n.Driver != t.Task.Driver { // the network is another driver's
		return e, false
	}
	there, err := h.forward(passage{e, "127.0.0.1", a.id}, a.id, func(address string) (net.Listener, error) {
		return user.ListenIn(ctx, n, address)
	})
	return there, err == nil
}

// forward makes a forward, or finds it. An allocation uses it. The lock is held.
func (h *Hooks) forward(at passage, alloc string, listen func(address string) (net.Listener, error)) (taskenv.Endpoint, error) {
	f := h.forwards[at]
	if f == nil {
		l, err := listen(net.JoinHostPort(at.host, strconv.Itoa(usual(at.target.Port))))
		if err != nil {
			l, err = listen(net.JoinHostPort(at.host, "0"))
		}
		if err != nil {
			return at.target, err
		}
		f = &forwarding{Forward: forward.Start(l, dial(at.target)), users: map[string]bool{}}
		h.forwards[at] = f
	}
	f.users[alloc] = true
	return taskenv.Endpoint{Host: at.host, Port: f.Addr().(*net.TCPAddr).Port}, nil
}

// usual returns the port of a forward to a port, if it is free: always the same
// one, because a container that outlives its engine knows it.
func usual(port int) int {
	const first, count = 40000, 20000
	return first + port%count
}

func dial(to taskenv.Endpoint) forward.Dial {
	address := net.JoinHostPort(to.Host, strconv.Itoa(to.Port))
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
}

// tell publishes once why tasks cannot reach the machine.
func (h *Hooks) tell(t hooks.Task, e taskenv.Endpoint, err error) {
	text := fmt.Sprintf("%s tasks cannot reach the server at %s: %v", t.Task.Driver, e.Host, err)
	h.mu.Lock()
	again := h.told[text]
	h.told[text] = true
	h.mu.Unlock()
	if !again && t.Publish != nil {
		t.Publish(time.Now(), event.Notice{Text: text})
	}
}

// Task makes the hook of a task, or returns nil if it needs none. It is a
// hooks.TaskFactory.
func (h *Hooks) Task(t hooks.Task) hooks.TaskHook {
	// A task may have ports that it never connects to: that is no notice.
	if view := h.view(t, func(taskenv.Endpoint, error) {}); view != nil {
		return &task{view}
	}
	return nil
}

// task is the hook of a task, whose variables name addresses as the task sees
// them.
type task struct{ view taskenv.View }

// Name implements hooks.TaskHook.
func (t *task) Name() string { return "reach" }

// Prestart implements hooks.TaskPrestart.
func (t *task) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	resp.View = t.view
	return nil
}
