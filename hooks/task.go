// Package hooks is the contract between the runners and everything around a
// task, such as directories, output and environment. The runners do not know any
// hook by name; cmd gives them a Catalog.
//
// A task hook is a named value that implements the phases it needs. In each phase
// the hooks are called one after another, in the order of the catalog:
//
//	             ┌───────────────────────── restart ──────────────────────┐
//	             ▼                                                        │
//	pending ─▶ Prestart ─▶ (driver starts) ─▶ Poststart ─▶ running ─▶ Exited ─▶ dead ─▶ Stop
//	                                                          │   ▲
//	                                        a kill or restart │   │ (driver stops)
//	                                              was ordered ▼   │
//	                                                         Prekill
//
//	phase      context ends when      after an error
//	Prestart   killed                 skip the next hooks; the start has failed
//	Poststart  killed                 event, continue
//	Prekill    never                  event, continue
//	Exited     killed                 event, continue
//	Update     killed                 event, continue
//	Stop       never                  event, continue
//
// A hook implements the interfaces of the phases that it needs: TaskPrestart and so
// on, or AllocPrerun and so on for the hook of an allocation.
//
// A hook that is Done is not called before later starts; its variables, mounts
// and devices remain. State is passed to the hook again before the next start;
// each response replaces it completely. When the engine ends and leaves the tasks
// running, Shutdown is called instead of Stop.
package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// Task is the part of a task that its hooks may use. It is read only.
type Task struct {
	Alloc    *event.Alloc
	Job      *api.Job
	Group    *api.TaskGroup
	Task     *api.Task
	AllocDir string        // the allocation directory
	Dir      *allocdir.Dir // the same, for access to its files
	Driver   drivers.Capabilities
	Chance   chance.Source

	// Emit adds an event to the task's events.
	Emit func(*api.TaskEvent)
	// Publish publishes an event about the task.
	Publish func(at time.Time, body event.Body)
	// Control acts on the task.
	Control Control
}

// Owner returns the user of this machine that owns the files of the task; nil
// means the user of the engine. If the user does not exist, the driver reports
// it. The users of an image are unknown here.
func (t *Task) Owner() *allocdir.Owner {
	if t.Driver.FSIsolation == drivers.FSIsolationImage {
		return nil
	}
	owner, _ := allocdir.OwnerOf(t.Task.User)
	return owner
}

// ErrNotRunning is Nomad's error of an order for a task that is not running.
var ErrNotRunning = errors.New("Task not running")

// Control lets a hook act on its task outside of its phases, from its own
// goroutines. The events explain the reason.
type Control interface {
	// Restart restarts the running task, without counting a failure, and
	// returns once its old run has ended. A phase of the hook must not call it.
	Restart(ctx context.Context, why *api.TaskEvent) error
	// Signal sends a signal, given by Nomad's name, to the running task.
	Signal(why *api.TaskEvent, signal string) error
	// Fail ends the task for good, as failed; why must be an event that fails
	// the task. It does not wait.
	Fail(why *api.TaskEvent)
	// SetTemplateEnv replaces the variables of templates with env = true, from
	// the next start on.
	SetTemplateEnv(env map[string]string)
}

// TaskFactory creates the hook of a task, or returns nil if the task does not
// need it.
type TaskFactory func(Task) TaskHook

// TaskHook is a hook of a task. It implements the interfaces for the phases
// that it needs.
type TaskHook interface {
	// Name identifies the hook in events and in stored state.
	Name() string
}

// TaskPrestart is called before every start of the task. An error fails the
// start for good, unless it is recoverable (drivers.IsRecoverable).
type TaskPrestart interface {
	TaskHook
	Prestart(ctx context.Context, req *PrestartRequest, resp *PrestartResponse) error
}

// PrestartRequest is the input of TaskPrestart.
type PrestartRequest struct {
	State      map[string]string // the State of the hook's last response
	Task       *api.Task
	Resources  drivers.Resources
	TaskDir    string       // the task's own directory
	VaultToken string       // empty unless an earlier hook provided one
	Env        *taskenv.Env // including the variables of earlier hooks
	// Recovered is true if an earlier engine may have started the task. The
	// context does not end then, because the task must be watched in any case.
	Recovered bool
}

// PrestartResponse is the hook's contribution to the task.
type PrestartResponse struct {
	Env     map[string]string // replaces the hook's last Env; the hook still owns Env and Devices
	Mounts  []drivers.Mount   // replace the hook's last Mounts, unless empty
	Devices []drivers.Device  // replace the hook's last Devices, unless empty
	State   map[string]string // replaces the hook's last State
	// Done says not to call the hook before later starts; its contribution
	// remains.
	Done bool
	// Output, if set, receives the task's output.
	Output Output
	// View, if set, is where the task sees addresses of this machine.
	View taskenv.View
	// VaultToken, if set, is the task's token.
	VaultToken string
	// IdentityTokens are the tokens of workload identities for the environment,
	// by name; the name of the default identity is empty.
	IdentityTokens map[string]string
	// Secrets are the values of secret blocks, by "secret.BLOCK.KEY".
	Secrets map[string]string
}

// Output captures the output of a task.
type Output interface {
	drivers.Output
	// Drain returns once everything that an ended task has written is captured.
	Drain()
}

// TaskPoststart is called after every start of the task.
type TaskPoststart interface {
	TaskHook
	Poststart(ctx context.Context, req *PoststartRequest) error
}

// PoststartRequest is the input of TaskPoststart.
type PoststartRequest struct {
	Network *drivers.Network // nil unless the driver created one
	Env     *taskenv.Env
	// Exec runs a command in the task, see drivers.Capture; nil if the driver
	// cannot.
	Exec func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error)
	// Stats samples the usage of the task; nil if the driver cannot.
	Stats func(ctx context.Context, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error)
}

// TaskUpdate is called when the job has changed in a way that leaves the task
// running. It may run at any time and concurrently with any phase except
// itself.
type TaskUpdate interface {
	TaskHook
	Update(ctx context.Context, req *UpdateRequest) error
}

// UpdateRequest is the input of TaskUpdate.
type UpdateRequest struct {
	Job   *api.Job
	Group *api.TaskGroup
	Task  *api.Task
}

// TaskShutdown is called when the engine ends and leaves the task running. It
// must not touch anything that the task still needs.
type TaskShutdown interface {
	TaskHook
	Shutdown()
}

// TaskPrekill is called before the task is killed or restarted by an order, but
// not before a restart by policy.
type TaskPrekill interface {
	TaskHook
	Prekill(ctx context.Context) error
}

// TaskExited is called after each end of the task.
type TaskExited interface {
	TaskHook
	Exited(ctx context.Context) error
}

// TaskStop is called once, when the task will never run again. No other phase
// needs to have been called before.
type TaskStop interface {
	TaskHook
	Stop(ctx context.Context) error
}

// EventError is an error of a hook that appears as its own event rather than as
// "Task hook failed".
type EventError struct {
	Event *api.TaskEvent
	Err   error
}

func (e *EventError) Error() string { return e.Err.Error() }
func (e *EventError) Unwrap() error { return e.Err }
