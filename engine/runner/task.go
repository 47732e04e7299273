package runner

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// task is one task of an allocation over all its starts.
type task struct {
	alloc  *Alloc
	spec   *api.Task
	stage  lifecycle.Stage
	driver drivers.Driver

	// killed is done when the task must end for good; cancel makes it so.
	killed context.Context
	cancel context.CancelFunc
	gate   chan struct{} // a token for one start

	// Owned by the allocation.
	phase    lifecycle.Phase
	failed   bool
	restarts uint64
	exitCode *int
	finished time.Time
	waiting  bool // at the gate
	told     bool // of its killing
	ended    bool // run has returned

	// Owned by run.
	hooks   []*taskHook
	env     *taskenv.Builder
	built   *taskenv.Env // of env; nil when it has changed
	output  hooks.Output
	policy  restart.Policy
	tracker restart.Tracker
	id      string // of the driver's task
	network *drivers.Network
}

func newTask(a *Alloc, spec *api.Task) *task {
	t := &task{
		alloc:   a,
		spec:    spec,
		stage:   lifecycle.StageOf(spec.Lifecycle),
		driver:  a.cfg.Drivers[spec.Driver],
		gate:    make(chan struct{}, 1),
		policy:  restart.PolicyOf(*a.cfg.Job.Type, spec),
		tracker: restart.Tracker{Start: time.Now()},
	}
	t.killed, t.cancel = context.WithCancel(context.Background())
	t.env = t.newEnv()
	t.hooks = t.newHooks()
	return t
}

// apply adds an event to the task and, unless phase is empty, changes its
// state. For the allocation's goroutine.
func (t *task) apply(state string, e *api.TaskEvent) {
	before := t.view()
	if e != nil {
		t.failed = t.failed || event.Fails(e)
		if e.Type == api.TaskRestarting {
			t.restarts++
		}
		t.publish(event.TaskEvent{TaskEvent: e})
	}
	switch state {
	case pending:
		t.phase = lifecycle.Pending
	case running:
		t.phase = lifecycle.Running
	case dead:
		t.phase = lifecycle.Dead
		if t.finished.IsZero() {
			t.finished = time.Now()
		}
	}
	if after := t.view(); after != before {
		t.publish(event.TaskState{
			State: after.phase.String(), Failed: after.failed, Restarts: after.restarts, ExitCode: t.exitCode,
		})
	}
}

// view is what of a task is told when it changes.
type view struct {
	phase    lifecycle.Phase
	failed   bool
	restarts uint64
}

func (t *task) view() view { return view{t.phase, t.failed, t.restarts} }

// Nomad's names of the task states, as apply takes them.
const (
	pending = "pending"
	running = "running"
	dead    = "dead"
)

func (t *task) publish(body event.Body) {
	t.alloc.cfg.Bus.Publish(t.alloc.cfg.Alloc, t.spec.Name, body)
}

// report tells the allocation of an event and a change of state.
func (t *task) report(state string, e *api.TaskEvent) {
	t.alloc.post(func() { t.apply(state, e) })
}

// emit adds an event without a change of state.
func (t *task) emit(e *api.TaskEvent) { t.report("", e) }

// killTimeout is how long the task may take to end once it was told to.
func (t *task) killTimeout() time.Duration {
	return min(*t.spec.KillTimeout, t.alloc.cfg.MaxKillTimeout)
}

// run takes the task through its life and returns when it will never run
// again.
func (t *task) run() {
	for t.runOnce() {
	}
	t.report(dead, nil)
	if t.stage != lifecycle.Poststop {
		// Wait for the others: hooks are stopped when the allocation ends.
		<-t.killed.Done()
	}
	t.stopHooks()
	t.alloc.post(func() { t.ended = true })
}

// runOnce starts the task, waits for its end, and reports whether it must be
// started again.
func (t *task) runOnce() bool {
	if !t.awaitGate() {
		return false
	}
	if err := t.start(); err != nil {
		if t.isKilled() {
			return false
		}
		return t.decide(restart.End{StartError: true, Recoverable: drivers.IsRecoverable(err)}, nil)
	}
	if t.id == "" { // killed before there was anything to kill
		return false
	}
	t.poststart()
	result, killed, killErr := t.wait()
	if t.output != nil {
		t.output.Drain()
	}
	if result != nil {
		t.terminated(result)
	}
	_ = t.driver.DestroyTask(t.id, true)
	t.id = ""
	t.exited()
	return t.decide(restart.End{
		Killed:     killed,
		Successful: result != nil && result.Successful(),
	}, killErr)
}

func (t *task) terminated(r *drivers.ExitResult) {
	e := event.Terminated(r.ExitCode, r.Signal, r.OOMKilled, r.Err)
	code := r.ExitCode
	if code == 0 && r.Signal != 0 {
		code = 128 + r.Signal
	}
	t.alloc.post(func() {
		t.exitCode = &code
		t.apply("", e)
	})
}

// awaitGate waits until the task's stage may start tasks; false: it was killed.
func (t *task) awaitGate() bool {
	if t.isKilled() {
		return false
	}
	t.alloc.post(func() { t.waiting = true })
	select {
	case <-t.gate:
		return !t.isKilled()
	case <-t.killed.Done():
		return false
	}
}

func (t *task) isKilled() bool { return t.killed.Err() != nil }

// decide applies the restart policy and waits for the delay. It reports
// whether the task is to be started again.
func (t *task) decide(end restart.End, killErr error) bool {
	var d restart.Decision
	t.tracker, d = t.tracker.Decide(t.policy, end, time.Now(), rand.Float64())
	switch d.Action {
	case restart.Killed:
		t.report("", event.Killed(killErr))
	case restart.Fail:
		t.report(dead, event.NotRestarting(d.Reason))
	case restart.Restart:
		t.report(pending, event.Restarting(d.Delay, d.Reason, restart.ReasonWithinPolicy))
		return t.sleep(d.Delay)
	case restart.Finish:
	}
	return false
}

// sleep waits; false: the task was killed.
func (t *task) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !t.isKilled()
	case <-t.killed.Done():
		return false
	}
}
