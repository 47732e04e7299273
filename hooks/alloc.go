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

// Alloc is the part of an allocation that its hooks may use. It is read only.
type Alloc struct {
	Alloc    *event.Alloc
	Job      *api.Job
	Group    *api.TaskGroup
	AllocDir string        // the allocation directory
	Dir      *allocdir.Dir // the same, for access to its files
	// Sticky is the link to the data of a sticky ephemeral_disk, see
	// engine/leaf/datadir, or empty.
	Sticky string

	// Network is the driver that creates the group's network, if any of its
	// tasks needs one. SetNetwork receives the network before tasks start.
	Network    drivers.NetworkManager
	SetNetwork func(*drivers.NetworkIsolation)
	// Isolation returns the network given to SetNetwork; nil means the
	// machine's network. See OwnNetwork.
	Isolation func() *drivers.NetworkIsolation

	// Capabilities returns those of a driver, by name.
	Capabilities func(driver string) drivers.Capabilities

	Node  *taskenv.Node
	Ports []taskenv.Port
	// TaskPorts are the ports of tasks with their own (deprecated) networks.
	TaskPorts map[string][]taskenv.Port

	// Env returns the environment of the allocation itself, without a task.
	Env func() *taskenv.Env
	// Publish publishes an event about the allocation.
	Publish func(at time.Time, body event.Body)
	// ChecksPass reports whether all checks of the allocation's services pass.
	// Before the first call, they count as passing.
	ChecksPass func(pass bool)
	// Restart restarts a running task (or all of them if task is empty) because
	// of a failure. It returns once the old runs have ended.
	Restart func(ctx context.Context, task, reason string) error
}

// OwnNetwork returns the group's own network and how the engine uses it; a nil
// user means that it cannot, a nil network that the group has none.
func (a *Alloc) OwnNetwork() (drivers.NetworkUser, *drivers.NetworkIsolation) {
	if a.Isolation == nil {
		return nil, nil
	}
	n := a.Isolation()
	if n == nil || n.IP == "" {
		return nil, nil
	}
	if n.Sockets == "" {
		return nil, n
	}
	user, _ := a.Network.(drivers.NetworkUser)
	return user, n
}

// Registration returns a service of the allocation.
func (a *Alloc) Registration(id, name, address string, port int, tags []string) api.ServiceRegistration {
	return api.ServiceRegistration{
		ID: id, ServiceName: name, Namespace: *a.Job.Namespace, NodeID: a.Node.ID, Datacenter: a.Node.Datacenter,
		JobID: *a.Job.ID, AllocID: a.Alloc.ID, Tags: tags, Address: address, Port: port,
	}
}

// PublishService publishes that a service was registered or deregistered.
func (a *Alloc) PublishService(r *api.ServiceRegistration, registered bool) {
	a.Publish(time.Now(), event.Service{
		ID: r.ID, Name: r.ServiceName, Address: r.Address, Port: r.Port, Tags: r.Tags, Registered: registered,
	})
}

// AllocFactory creates the hook of an allocation, or returns nil if the
// allocation does not need it.
type AllocFactory func(Alloc) AllocHook

// AllocHook is a hook of an allocation. It implements the interfaces for the
// phases that it needs.
type AllocHook interface {
	// Name identifies the hook in errors.
	Name() string
}

// AllocPrerun is called before any task starts. After an error the allocation
// does not run: its tasks fail with a "Setup Failure".
type AllocPrerun interface {
	AllocHook
	Prerun(ctx context.Context) error
}

// AllocPrekill is called before the tasks are killed as a group, possibly more
// than once. The context ends when no time for grace is left.
type AllocPrekill interface {
	AllocHook
	Prekill(ctx context.Context)
}

// AllocPreTaskRestart is called before an order restarts all tasks together,
// but not before a single one is restarted.
type AllocPreTaskRestart interface {
	AllocHook
	PreTaskRestart(ctx context.Context)
}

// AllocPostrun is called when every task has ended for good, even if Prerun
// failed or was never called.
type AllocPostrun interface {
	AllocHook
	Postrun(ctx context.Context) error
}

// AllocUpdate is called when the job has changed in a way that leaves the
// allocation running, before the tasks' own hooks. It may run concurrently with
// any phase except itself.
type AllocUpdate interface {
	AllocHook
	Update(ctx context.Context, job *api.Job, group *api.TaskGroup) error
}

// AllocDestroy is called when the allocation has ended and nothing of it is
// kept, even if no other phase was called before.
type AllocDestroy interface {
	AllocHook
	Destroy(ctx context.Context) error
}

// AllocShutdown is called when the engine ends and leaves the tasks running.
type AllocShutdown interface {
	AllocHook
	Shutdown()
}

// Catalog lists the hooks in the order of their calls.
type Catalog struct {
	Alloc []AllocFactory
	Task  []TaskFactory
}
