package hooks

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// Alloc is what a hook may know of its allocation. All of it is read only.
type Alloc struct {
	Alloc    *event.Alloc
	Job      *api.Job
	Group    *api.TaskGroup
	AllocDir string        // directory of the allocation
	Dir      *allocdir.Dir // the same, to open what is in it
	// Sticky is the link by which the data of an ephemeral_disk that sticks is
	// found again, see engine/leaf/allocdir; empty when there is none.
	Sticky string

	// Network is the driver that makes the network of the group, if it has
	// tasks of one that must; SetNetwork gets it before tasks start.
	Network    drivers.NetworkManager
	SetNetwork func(*drivers.NetworkIsolation)
	// Isolation returns what SetNetwork was told; nil: the network is the
	// machine's.
	Isolation func() *drivers.NetworkIsolation

	Node  *taskenv.Node
	Ports []taskenv.Port
	// TaskPorts are those of tasks, by their deprecated networks.
	TaskPorts map[string][]taskenv.Port

	// Env returns the environment of the allocation itself, without a task.
	Env func() *taskenv.Env
	// Publish tells the run's subscribers of something that concerns the
	// allocation.
	Publish func(at time.Time, body event.Body)
	// ChecksPass tells whether all checks of the allocation's services pass.
	// They do until it is called.
	ChecksPass func(pass bool)
	// Restart restarts a running task, or with an empty name all of them,
	// because of a failure, and returns when the old runs have ended.
	Restart func(ctx context.Context, task, reason string) error
}

// AllocFactory makes the hook of one allocation. It returns nil when the
// allocation does not need the hook.
type AllocFactory func(Alloc) AllocHook

// AllocHook is a hook of an allocation. It implements the interfaces below
// of the phases that it needs.
type AllocHook interface {
	// Name identifies the hook in errors.
	Name() string
}

// AllocPrerun is called before any task starts. An error keeps the allocation
// from running: its tasks fail with a "Setup Failure".
type AllocPrerun interface {
	AllocHook
	Prerun(ctx context.Context) error
}

// AllocPrekill is called before the tasks are killed as a group, perhaps more
// than once. The context ends when there is no time for grace left.
type AllocPrekill interface {
	AllocHook
	Prekill(ctx context.Context)
}

// AllocPreTaskRestart is called before the tasks are restarted together by
// order; not when a single one is.
type AllocPreTaskRestart interface {
	AllocHook
	PreTaskRestart(ctx context.Context)
}

// AllocPostrun is called when every task has ended for good, also when Prerun
// failed or was never called.
type AllocPostrun interface {
	AllocHook
	Postrun(ctx context.Context) error
}

// AllocUpdate is called when the job has changed in a way that leaves the
// allocation running, before the tasks' own hooks. It may be called beside any
// other phase, but never beside itself.
type AllocUpdate interface {
	AllocHook
	Update(ctx context.Context, job *api.Job, group *api.TaskGroup) error
}

// AllocDestroy is called when the allocation has ended and nothing of it is to
// be kept, also when no other phase was called before.
type AllocDestroy interface {
	AllocHook
	Destroy(ctx context.Context) error
}

// AllocShutdown is called when the engine ends and leaves the tasks running.
type AllocShutdown interface {
	AllocHook
	Shutdown()
}

// Catalog lists the hooks, in the order in which they are called.
type Catalog struct {
	Alloc []AllocFactory
	Task  []TaskFactory
}
