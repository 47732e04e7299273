package runner

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
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
	index  int // in the group
	name   string
	job    atomic.Pointer[jobSpec]
	stage  lifecycle.Stage
	driver drivers.Driver

	// killed is done when the task must end for good; cancel makes it so.
	killed context.Context
	cancel context.CancelFunc
	gate   chan struct{} // a token for one start

	inlet inlet
	// templates is what a hook has set since the last snapshot.
	templates atomic.Pointer[map[string]string]
	revive    chan string // for a task that is parked: why it is started again

	// Owned by the allocation.
	state    api.TaskState // written with the allocation's mu held
	exitCode *int
	handle   string // the driver's ID while the task runs
	// overLimit is the driver's ID of the last start that had too much memory.
	overLimit string

	// Owned by run.
	hooks   []*taskHook
	env     *taskenv.Builder
	built   *taskenv.Env // of env; nil when it has changed
	output  hooks.Output
	policy  restart.Policy
	tracker restart.Tracker
	id      string // of the driver's task
	started *drivers.TaskHandle
	network *drivers.Network
	vault   string // token
}

func newTask(a *Alloc, index int, spec *api.Task) *task {
	t := &task{
		alloc:   a,
		index:   index,
		name:    spec.Name,
		stage:   lifecycle.StageOf(spec.Lifecycle),
		driver:  a.cfg.Drivers[spec.Driver],
		gate:    make(chan struct{}, 1),
		inlet:   inlet{requests: make(chan *restartRequest, 1)},
		revive:  make(chan string, 1),
		state:   api.TaskState{State: pending},
		policy:  restart.PolicyOf(*a.cfg.Job.Type, spec),
		tracker: restart.Tracker{Start: time.Now()},
	}
	t.job.Store(&jobSpec{a.cfg.Job, a.cfg.Group, spec})
	t.killed, t.cancel = context.WithCancel(context.Background())
	t.env = t.newEnv()
	t.hooks = t.newHooks()
	return t
}

// jobSpec is the part of a version of the job that concerns a task.
type jobSpec struct {
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task
}

// spec is the task as the newest version of the job has it.
func (t *task) spec() *api.Task { return t.job.Load().task }

// apply adds an event to the task and, unless state is empty, changes its
// state. For the allocation's goroutine.
func (t *task) apply(state string, e *api.TaskEvent) {
	before, after := t.state, advance(t.state, state, e, time.Now())
	t.alloc.mu.Lock()
	t.state, t.alloc.modified = after, time.Now()
	t.alloc.mu.Unlock()
	if e != nil {
		t.publish(event.TaskEvent{TaskEvent: e})
	}
	moved := before.State != after.State || before.Failed != after.Failed
	if moved || before.Restarts != after.Restarts {
		t.publish(event.TaskState{
			State: after.State, Failed: after.Failed, Restarts: after.Restarts, ExitCode: t.exitCode,
		})
	}
	if moved {
		t.alloc.happens(lifecycle.Input{
			Kind: lifecycle.Changed, Task: t.index, Phase: phase(after), Failed: after.Failed,
		})
	}
}

func (t *task) publish(body event.Body) {
	t.alloc.cfg.Bus.Publish(t.alloc.cfg.Alloc, t.name, body)
}

// report tells the allocation of an event and a change of state.
func (t *task) report(state string, e *api.TaskEvent) {
	t.alloc.post(func() { t.apply(state, e) })
}

// emit adds an event without a change of state.
func (t *task) emit(e *api.TaskEvent) { t.report("", e) }

// killTimeout is how long the task may take to end once it was told to.
func (t *task) killTimeout() time.Duration {
	return min(*t.spec().KillTimeout, t.alloc.cfg.MaxKillTimeout)
}

// run takes the task through its life and returns when it will never run
// again, or is left to itself.
func (t *task) run() {
	for {
		for t.runOnce() {
		}
		if t.isLeft() {
			t.shutdownHooks()
			t.alloc.post(func() { t.happens(lifecycle.Ends) })
			return
		}
		t.report(dead, nil)
		if t.stage == lifecycle.Poststop || !t.park() {
			break
		}
	}
	t.stopHooks()
	t.alloc.post(func() { t.happens(lifecycle.Ends) })
}

// park waits, dead, for the end of the allocation. It reports whether the task
// is to be started again, because the whole allocation is.
func (t *task) park() bool {
	t.alloc.post(func() { t.happens(lifecycle.Parks) })
	select {
	case <-t.killed.Done():
		return false
	case <-t.alloc.leaving.Done():
		return false
	case reason := <-t.revive:
		t.report("", event.RestartSignaled(reason))
		return t.decide(restart.End{Requested: true}, nil)
	}
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
	end := t.wait()
	if end.left {
		return false
	}
	if t.output != nil {
		t.output.Drain()
	}
	if end.result != nil {
		t.watchMemory(t.id, end.result.PeakMemory)
	}
	t.terminated(end.result)
	_ = t.driver.DestroyTask(t.id, true)
	t.exited()
	return t.decide(restart.End{
		Killed:     end.killed,
		Requested:  end.restart,
		Successful: end.result != nil && end.result.Successful(),
	}, end.killErr)
}

// terminated tells of the task's end; r is nil when the driver lost the task.
func (t *task) terminated(r *drivers.ExitResult) {
	t.alloc.post(func() {
		t.handle = ""
		if r == nil {
			return
		}
		code := r.ExitCode
		if code == 0 && r.Signal != 0 {
			code = 128 + r.Signal
		}
		t.exitCode = &code
		t.apply("", event.Terminated(r.ExitCode, r.Signal, r.OOMKilled, r.Err))
	})
}

// awaitGate waits until the task's stage may start tasks; false: it was killed.
func (t *task) awaitGate() bool {
	if t.isKilled() {
		return false
	}
	t.alloc.post(func() { t.happens(lifecycle.Waits) })
	select {
	case <-t.gate:
		return !t.isKilled()
	case <-t.killed.Done():
	case <-t.alloc.leaving.Done():
	}
	return false
}

func (t *task) isKilled() bool { return t.killed.Err() != nil }

// isLeft reports whether the task is to be left to itself. One that is killed
// is not.
func (t *task) isLeft() bool { return t.alloc.leaving.Err() != nil && !t.isKilled() }

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
	case <-t.alloc.leaving.Done():
	}
	return false
}
