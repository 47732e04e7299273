// Package hooks is the contract between the runners and everything around a
// task: directories, output, environment and what is still to come. The
// runners' loops know no hook by name; cmd hands them a Catalog.
//
// A task hook is a named value that implements the phases it has something to
// do in. In each phase the hooks are called in the order of the catalog, one
// after another:
//
//	             ┌───────────────────────── restart ──────────────────────┐
//	             ▼                                                        │
//	pending ─▶ Prestart ─▶ (driver starts) ─▶ Poststart ─▶ running ─▶ Exited ─▶ dead ─▶ Stop
//	                                                          │   ▲
//	                                        a kill or restart │   │ (driver stops)
//	                                               was asked  ▼   │
//	                                                         Prekill
//
//	phase      context ends when      after an error
//	Prestart   killed                 the next hooks are not called, the start has failed
//	Poststart  killed                 event, and on
//	Prekill    never                  event, and on
//	Exited     killed                 event, and on
//	Update     killed                 event, and on
//	Stop       never                  event, and on
//
// A hook implements the interfaces of the phases that it needs:
//
//	TaskPrestart         before each start; gives variables, mounts, devices, output
//	TaskPoststart        after each start
//	TaskPrekill          before a kill or a restart by order
//	TaskExited           after each end
//	TaskUpdate           when the job has changed under the running task
//	TaskStop             once, when the task will never run again
//	TaskShutdown         when the engine ends and leaves the task running
//	AllocPrerun          before any task starts
//	AllocPrekill         before the tasks are killed as a group
//	AllocPreTaskRestart  before the tasks are restarted together
//	AllocUpdate          when the job has changed under the running allocation
//	AllocPostrun         when every task has ended for good
//	AllocDestroy         when nothing of the allocation is to be kept
//	AllocShutdown        when the engine ends and leaves the tasks running
//
// A hook that is Done is not called before later starts; its variables, mounts
// and devices stay. State is what a hook wants to be told before the next
// start; it is replaced as a whole. When the engine ends and leaves the tasks
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

// Task is what a hook may know of its task. All of it is read only.
type Task struct {
	Alloc    *event.Alloc
	Job      *api.Job
	Group    *api.TaskGroup
	Task     *api.Task
	AllocDir string        // directory of the allocation
	Dir      *allocdir.Dir // the same, to open what is in it
	Driver   drivers.Capabilities
	Chance   chance.Source

	// Emit adds an event to the task's own.
	Emit func(*api.TaskEvent)
	// Publish tells the run's subscribers of something that concerns the task.
	Publish func(at time.Time, body event.Body)
	// Control acts on the task.
	Control Control
}

// Owner returns the user of this machine that owns the files of the task; nil
// for the user of the engine. The driver reports a user that does not exist. The
// users of an image are unknown here.
func (t *Task) Owner() *allocdir.Owner {
	if t.Driver.FSIsolation == drivers.FSIsolationImage {
		return nil
	}
	owner, _ := allocdir.OwnerOf(t.Task.User)
	return owner
}

// ErrNotRunning is the answer to an order for a task that does not run, in
// Nomad's words.
var ErrNotRunning = errors.New("Task not running")

// Control is how a hook acts on its task out of its turn, from goroutines of
// its own. The events tell why.
type Control interface {
	// Restart restarts the running task, which is no failure, and returns when
	// its old run has ended. It must not be called from a phase of the hook.
	Restart(ctx context.Context, why *api.TaskEvent) error
	// Signal sends a signal, by Nomad's name, to the running task.
	Signal(why *api.TaskEvent, signal string) error
	// Fail ends the task for good, as failed; why must be an event that fails
	// it. It returns at once.
	Fail(why *api.TaskEvent)
	// SetTemplateEnv replaces the variables of templates with env = true, from
	// the next start on.
	SetTemplateEnv(env map[string]string)
}

// TaskFactory makes the hook of one task. It returns nil when the task does
// not need the hook.
type TaskFactory func(Task) TaskHook

// TaskHook is a hook of a task. It implements the interfaces below of the
// phases that it needs.
type TaskHook interface {
	// Name identifies the hook in events and in stored state.
	Name() string
}

// TaskPrestart is called before every start of the task. An error fails the
// start; it is final unless drivers.IsRecoverable says otherwise.
type TaskPrestart interface {
	TaskHook
	Prestart(ctx context.Context, req *PrestartRequest, resp *PrestartResponse) error
}

// PrestartRequest is the input of TaskPrestart.
type PrestartRequest struct {
	State      map[string]string // what the hook stored in its last response
	Task       *api.Task
	Resources  drivers.Resources
	TaskDir    string       // the task's own directory
	VaultToken string       // empty unless an earlier hook gave one
	Env        *taskenv.Env // with what earlier hooks added
	// Recovered: the task may run already, since before this engine began. The
	// context does not end then, for the task must be watched whatever comes.
	Recovered bool
}

// PrestartResponse is what a hook gives the task.
type PrestartResponse struct {
	Env     map[string]string // replaces what the hook gave before; with Devices, it is theirs
	Mounts  []drivers.Mount   // replace, unless empty, those of the hook before
	Devices []drivers.Device  // likewise
	State   map[string]string // replaces what the hook stored before
	// Done: the hook is not called again; what it gave stays.
	Done bool
	// Output, when set, is where the task's output goes.
	Output Output
	// VaultToken, when set, is the task's token.
	VaultToken string
	// IdentityTokens are the tokens of workload identities that belong into the
	// environment, by name; that of the default one is empty.
	IdentityTokens map[string]string
	// Secrets are values of secret blocks, by "secret.BLOCK.KEY".
	Secrets map[string]string
}

// Output captures what a task writes.
type Output interface {
	drivers.Output
	// Drain returns when all that an ended task had written is captured.
	Drain()
}

// TaskPoststart is called after every start of the task.
type TaskPoststart interface {
	TaskHook
	Poststart(ctx context.Context, req *PoststartRequest) error
}

// PoststartRequest is the input of TaskPoststart.
type PoststartRequest struct {
	Network *drivers.Network // nil unless the driver made one
	Env     *taskenv.Env
	// Exec runs a command in the task, see drivers.Capture; nil when the
	// driver cannot.
	Exec func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error)
	// Stats tells what the task uses; nil when the driver cannot.
	Stats func(ctx context.Context, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error)
}

// TaskUpdate is called when the job has changed in a way that leaves the task
// running. It may be called at any time, beside any other phase, but never
// beside itself.
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
// must not touch what the task still needs.
type TaskShutdown interface {
	TaskHook
	Shutdown()
}

// TaskPrekill is called before the task is killed or restarted by order, but
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

// TaskStop is called once, when the task will never run again. It must be safe
// without any other phase before it.
type TaskStop interface {
	TaskHook
	Stop(ctx context.Context) error
}

// EventError is an error of a hook that is shown as an event of its own rather
// than as "Task hook failed".
type EventError struct {
	Event *api.TaskEvent
	Err   error
}

func (e *EventError) Error() string { return e.Err.Error() }
func (e *EventError) Unwrap() error { return e.Err }
