package services

import (
	"context"
	"fmt"
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

// execFunc runs a command in a task.
type execFunc = func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error)

// Answer returns the result of a probe that is not carried out: that of a check of
// an allocation, a time after the allocation began.
type Answer func(alloc *event.Alloc, since time.Duration, c *check.Check) check.Result

// Config configures the hooks of one engine.
type Config struct {
	Catalog *service.Catalog // where services are registered
	// Unprobed makes checks pass without a probe, for services of tasks that do not run.
	Unprobed bool
	// Answer, if set, returns the result of each probe in place of the probe. The
	// times of the probes, and their consequences, stay the same.
	Answer Answer
}

// site is shared by the services of an allocation and of its tasks: the catalog,
// their addresses, the statuses of their checks, and the tasks in which script
// checks run.
type site struct {
	cfg   Config
	info  hooks.Alloc
	began time.Time
	tally tally

	mu      sync.Mutex
	running map[string]execFunc // by task that has started and not ended; nil: its driver runs no commands
}

// started notes that a task runs, and how script checks get into it.
func (s *site) started(task string, run execFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[task] = run
}

// exec runs a command in a task.
func (s *site) exec(ctx context.Context, task string, cmd []string) (*drivers.ExecTaskResult, error) {
	s.mu.Lock()
	run := s.running[task]
	s.mu.Unlock()
	if run == nil {
		return nil, fmt.Errorf("no command can be run in task %q", task)
	}
	return run(ctx, cmd)
}

func (s *site) stopped(task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, task)
}

// runs reports whether a task has started and not ended.
func (s *site) runs(task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, runs := s.running[task]
	return runs
}

// probe carries out a check once, or takes the answer to it.
func (s *site) probe(ctx context.Context, c *check.Check) check.Result {
	if s.cfg.Answer != nil {
		return s.cfg.Answer(s.info.Alloc, time.Since(s.began), c)
	}
	return c.Probe(ctx)
}

// found records the status of a check, and reports whether it published it. It does
// not publish a change of the output alone, which may differ each time.
func (s *site) found(key checkKey, c *check.Check, r check.Result) (published bool) {
	now := time.Now()
	before := s.cfg.Catalog.SetCheck(s.info.Alloc.ID, api.AllocCheckStatus{
		ID: c.ID, Check: c.Name, Group: c.Group, Mode: c.Mode(), Output: r.Output, Service: c.Service,
		Task: c.Task, Status: r.Status, StatusCode: r.Code, Timestamp: now.Unix(),
	})
	published = before == nil || before.Status != r.Status
	if published {
		s.publish(now, c, r)
	}
	s.tally.count(key, c, r)
	return published
}

func (s *site) publish(at time.Time, c *check.Check, r check.Result) {
	s.info.Publish(at, event.Check{Service: c.Service, Check: c.Name, Status: r.Status, Output: r.Output, Target: c.Target()})
}

// network is where the services of a task are reached, or those of the group.
func (s *site) network(task string, of *drivers.Network) service.Network {
	ports := slices.Concat(s.info.TaskPorts[task], s.info.Ports)
	n := service.Network{Ports: ports, Host: localhost, Driver: of}
	if isolation := s.info.Isolation; isolation != nil && isolation() != nil {
		n.Alloc = isolation().IP
	}
	return n
}
