// Package drivers is the contract between the task runner and task drivers:
// Nomad's driver plugin contract without the plugin.
// See https://developer.hashicorp.com/nomad/docs/concepts/plugins/task-drivers.
//
// Driver has the methods that every driver needs. A driver that can do more
// implements some of these interfaces:
//
//	Configurable    has options of its own, for all its tasks
//	Unheeder        knows options of Nomad's driver that have no effect here
//	ConfigUnheeder  knows options of config blocks that have no effect here
//	Recoverer       finds the tasks of an earlier process
//	Signaler        sends signals to a task
//	Execer          runs a command in a task and captures its output
//	StreamExecer    runs a command in a task with streams or a terminal
//	StatsCollector  measures the resource usage of a task
//	MemoryEnforcer  enforces the memory limits of tasks
//	EventSource     reports events of its tasks
//	NetworkManager  creates the network that the tasks of a group share
//	NetworkUser     lets the engine listen and connect in that network
//	Outsider        has tasks in networks of their own
//	HostPathUser    gives tasks paths of this machine
//	Lasting         has tasks that outlive the program that started them
//	Finder          finds everything it has made and not removed
//	Shutdowner      cleans up at the end of the run
//
// All methods must be safe for concurrent use.
package drivers

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
)

// Driver starts, watches and stops tasks of one kind.
type Driver interface {
	// Info returns the name of the driver in job files, e.g. "raw_exec".
	Info() Info

	// TaskConfigSchema describes the task's config block. It is constant.
	TaskConfigSchema() hcldec.Spec

	// Capabilities returns properties of the driver. They are constant once the
	// driver has its options.
	Capabilities() Capabilities

	// Fingerprint sends the driver's health: a first value at once, then one on
	// every change, until ctx ends. Then the channel is closed. If it is closed
	// earlier, Follow calls Fingerprint again.
	Fingerprint(ctx context.Context) (<-chan Fingerprint, error)

	// StartTask starts a task and registers it under cfg.ID, which must be new.
	// On error nothing is left behind, and the task has failed unless
	// IsRecoverable reports true. The network may be nil. ctx ends only when the
	// run is torn down at once. When the task is stopped, TaskConfig.Unwanted is
	// closed.
	StartTask(ctx context.Context, cfg *TaskConfig) (*TaskHandle, *Network, error)

	// WaitTask returns, without blocking, a channel that receives one result
	// when the task ends, and is then closed. It may be called many times, even
	// after the end, until DestroyTask. If ctx ends first, the channel is
	// closed without a value. Unknown tasks: ErrTaskNotFound.
	WaitTask(ctx context.Context, id string) (<-chan *ExitResult, error)

	// StopTask sends signal (Nomad's name, e.g. "SIGINT"; empty means SIGINT)
	// to the task and waits up to timeout for its end. It then kills the task
	// with all its processes, and returns when it is dead. A timeout of 0 kills
	// at once. It is no error if the task has ended already. The task stays
	// registered. The end of ctx ends the timeout.
	StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error

	// DestroyTask forgets a task and removes its remains. A running task is an
	// error, unless force is set, which kills it first.
	DestroyTask(id string, force bool) error

	// InspectTask returns the status of a task.
	InspectTask(id string) (*TaskStatus, error)
}

// Signaler is a driver that can send a signal to a running task.
type Signaler interface {
	// SignalTask sends the signal with Nomad's name, e.g. "SIGHUP". An unknown
	// name is an error.
	SignalTask(id string, signal string) error
}

// Shutdowner is a driver that cleans up at the end of the run, when every task
// was destroyed.
type Shutdowner interface {
	// Shutdown removes what tasks of this run may have left behind, such as
	// processes that moved to another session, and returns their number.
	Shutdown(ctx context.Context) (int, error)
}

// Info identifies a driver by name.
type Info struct {
	Name string // as in job files
}

// FSIsolation is how a task's view of the file system differs from the host's.
type FSIsolation string

// The isolations of Nomad's drivers.
const (
	FSIsolationNone   FSIsolation = "none"   // the task sees host paths
	FSIsolationChroot FSIsolation = "chroot" // the task directory is the root
	FSIsolationImage  FSIsolation = "image"  // the root comes from an image; the host's environment is not inherited
	FSIsolationUnveil FSIsolation = "unveil" // host paths, of which the task sees a part
)

// Capabilities are the properties of a driver that its interfaces do not show.
type Capabilities struct {
	FSIsolation FSIsolation
	// MustInitiateNetwork says that the driver creates the network of a group;
	// see NetworkManager.
	MustInitiateNetwork bool
}

// HealthState is a driver's health in Nomad's words.
type HealthState string

// The health states of a driver.
const (
	HealthUndetected HealthState = "undetected"
	HealthUnhealthy  HealthState = "unhealthy"
	HealthHealthy    HealthState = "healthy"
)

// Fingerprint is the health of a driver and the node attributes that it adds.
type Fingerprint struct {
	Health            HealthState
	HealthDescription string // "Healthy" or "disabled" as in Nomad, or the problem
	Disabled          bool   // by the config file
	Notice            string // a hint for users of a healthy driver; may be empty
	// Attributes is empty if the driver is undetected. Otherwise it contains at
	// least "driver.<name>": "1".
	Attributes map[string]string
}

// Healthy returns the fingerprint of a usable driver.
func Healthy(driver string) Fingerprint {
	return Fingerprint{Health: HealthHealthy, HealthDescription: "Healthy", Attributes: map[string]string{"driver." + driver: "1"}}
}

// Disabled returns the fingerprint of a driver that the config file disables.
func Disabled() Fingerprint {
	return Fingerprint{Health: HealthUndetected, HealthDescription: "disabled", Disabled: true}
}

// Steady implements Fingerprint for a driver whose health never changes.
func Steady(ctx context.Context, f Fingerprint) (<-chan Fingerprint, error) {
	ch := make(chan Fingerprint, 1)
	ch <- f
	context.AfterFunc(ctx, func() { close(ch) })
	return ch, nil
}
