package services

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/hooks/services/check"
)

// localhost is where services without a port are reached.
const localhost = "127.0.0.1"

// alloc is the hook of one allocation: its group's services, and the state of
// all checks, those of tasks included.
type alloc struct {
	hooks *Hooks
	info  hooks.Alloc
	tally tally
	began time.Time

	mu      sync.Mutex
	group   *api.TaskGroup      // its newest version
	own     *offer              // of the group; nil while it is not registered
	running map[string]execFunc // by task that has started and not ended; nil: its driver runs no commands
	ending  bool                // nothing is to be registered any more
}

func newAlloc(h *Hooks, info hooks.Alloc) *alloc {
	return &alloc{
		hooks: h, info: info, began: time.Now(), group: info.Group, running: map[string]execFunc{},
		tally: tally{tell: info.ChecksPass, passing: map[checkKey]bool{}},
	}
}

// Name implements hooks.AllocHook.
func (a *alloc) Name() string { return "group_services" }

// Prerun registers the group's services.
func (a *alloc) Prerun(context.Context) error {
	a.tally.expect(a.info.Group)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.register()
}

// register registers the group's services, unless they are. The lock is held.
func (a *alloc) register() (err error) {
	if a.own != nil || a.ending || len(a.group.Services) == 0 {
		return nil
	}
	a.own, err = a.offer("", a.group.Services, a.info.Env(), nil)
	return err
}

// deregister takes back the group's services, which it returns, and waits for
// the end of their checks.
func (a *alloc) deregister() *offer {
	a.mu.Lock()
	own := a.own
	a.own = nil
	a.mu.Unlock()
	own.withdraw()
	return own
}

// Prekill takes the group's services back before its shutdown_delay begins.
func (a *alloc) Prekill(context.Context) {
	a.mu.Lock()
	a.ending = true
	a.mu.Unlock()
	a.deregister()
}

// PreTaskRestart takes the group's services back; they are registered again
// when the first task has started.
func (a *alloc) PreTaskRestart(context.Context) { a.deregister() }

// Postrun forgets the allocation.
func (a *alloc) Postrun(ctx context.Context) error {
	a.Prekill(ctx)
	a.hooks.forget(a.info.Alloc.ID)
	a.hooks.catalog.Forget(a.info.Alloc.ID)
	return nil
}

// Shutdown ends the checks of an allocation that goes on without this engine.
func (a *alloc) Shutdown() { a.Prekill(context.Background()) }

// Update registers the services of a new version of the job. Those that are the
// same stay, and their checks with them.
func (a *alloc) Update(_ context.Context, _ *api.Job, group *api.TaskGroup) error {
	a.tally.expect(group)
	a.mu.Lock()
	same := reflect.DeepEqual(a.group.Services, group.Services)
	a.group = group
	a.mu.Unlock()
	if same {
		return nil
	}
	a.deregister().forget()
	return a.resume()
}

// resume registers the group's services, unless they are, and begins to check
// them once all main tasks run.
func (a *alloc) resume() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.register(); err != nil {
		return err
	}
	a.startGroupChecks()
	return nil
}

// started notes that a task runs, and how script checks get into it.
func (a *alloc) started(task string, run execFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[task] = run
}

// exec runs a command in a task.
func (a *alloc) exec(ctx context.Context, task string, cmd []string) (*drivers.ExecTaskResult, error) {
	a.mu.Lock()
	run := a.running[task]
	a.mu.Unlock()
	if run == nil {
		return nil, fmt.Errorf("no command can be run in task %q", task)
	}
	return run(ctx, cmd)
}

// startGroupChecks begins to check the group's services, if it is time. The
// lock is held.
func (a *alloc) startGroupChecks() {
	for _, t := range a.group.Tasks {
		if _, runs := a.running[t.Name]; t.Lifecycle == nil && !runs {
			return
		}
	}
	if a.own != nil {
		a.own.startChecks()
	}
}

func (a *alloc) stopped(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, task)
}

// probe carries out a check once, or takes the answer to it.
func (a *alloc) probe(ctx context.Context, c *check.Check) check.Result {
	if answer := a.hooks.answer; answer != nil {
		return answer(a.info.Alloc, time.Since(a.began), c)
	}
	return c.Probe(ctx)
}

// found takes in what a check says, and reports whether that was published: its
// output alone may differ each time.
func (a *alloc) found(key checkKey, c *check.Check, r check.Result) (published bool) {
	now := time.Now()
	before := a.hooks.catalog.SetCheck(a.info.Alloc.ID, api.AllocCheckStatus{
		ID: c.ID, Check: c.Name, Group: c.Group, Mode: c.Mode(), Output: r.Output, Service: c.Service,
		Task: c.Task, Status: r.Status, StatusCode: r.Code, Timestamp: now.Unix(),
	})
	published = before == nil || before.Status != r.Status
	if published {
		a.publish(now, c, r)
	}
	a.tally.count(key, c, r)
	return published
}

func (a *alloc) publish(at time.Time, c *check.Check, r check.Result) {
	a.info.Publish(at, event.Check{Service: c.Service, Check: c.Name, Status: r.Status, Output: r.Output, Target: c.Target()})
}

// network is where the services of a task are reached, or those of the group.
func (a *alloc) network(task string, of *drivers.Network) service.Network {
	ports := slices.Concat(a.info.TaskPorts[task], a.info.Ports)
	n := service.Network{Ports: ports, Host: localhost, Driver: of}
	if isolation := a.info.Isolation; isolation != nil && isolation() != nil {
		n.Alloc = isolation().IP
	}
	return n
}

func (a *alloc) fail(s *api.Service, err error) error {
	return fmt.Errorf("unable to get address for service %q: %w", s.Name, err)
}
