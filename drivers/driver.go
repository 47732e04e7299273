// Package drivers is the contract between the task runner and what runs a
// task: Nomad's driver plugin contract without the plugin.
// See https://developer.hashicorp.com/nomad/docs/concepts/plugins/task-drivers.
//
// Driver has the methods that every driver needs. A driver that can do more
// implements one of these interfaces, and leaves out the others:
//
//	Configurable    has options of its own, for all its tasks
//	Unheeder        knows options of Nomad's driver that have no effect here
//	Recoverer       finds the tasks of an earlier process again
//	Signaler        sends signals to a task
//	Execer          runs a command in a task and captures its output
//	StreamExecer    runs a command in a task with streams or a terminal
//	StatsCollector  measures what a task uses
//	MemoryEnforcer  holds tasks to their memory limits
//	EventSource     reports events of its tasks
//	NetworkManager  makes the network that the tasks of a group share
//	HostPathUser    gives tasks paths of this machine
//	Lasting         has tasks that outlive the program that started them
//	Finder          finds what it has made and not removed
//	Shutdowner      cleans up at the end of the run
//
// Everything here may be called from several goroutines at once.
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
	// earlier, Follow opens another one.
	Fingerprint(ctx context.Context) (<-chan Fingerprint, error)

	// StartTask starts a task and registers it under cfg.ID, which must be new.
	// On error nothing is left behind, and the task has failed unless
	// IsRecoverable reports true. The network may be nil. ctx ends only when the
	// run is torn down at once. When the task is stopped, TaskConfig.Unwanted is
	// closed.
	StartTask(ctx context.Context, cfg *TaskConfig) (*TaskHandle, *Network, error)

	// WaitTask returns at once a channel that gets one result when the task
	// ends, and is then closed. It may be called many times, even after the end,
	// until DestroyTask. If ctx ends first, the channel is closed without a
	// value. Unknown tasks: ErrTaskNotFound.
	WaitTask(ctx context.Context, id string) (<-chan *ExitResult, error)

	// StopTask sends signal (Nomad's name, e.g. "SIGINT"; empty means SIGINT)
	// to the task, waits for its end up to timeout, then kills it with all its
	// processes, and returns when it is dead. A timeout of 0 kills at once. A
	// task that has ended is no error; it stays registered. The end of ctx cuts
	// the timeout short.
	StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error

	// DestroyTask forgets a task and removes what is left of it. A running task
	// is an error unless force is set. Then it is killed first.
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

// Info identifies a driver.
type Info struct {
	Name string // in job files
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
	// MustInitiateNetwork: the driver makes the network of a group; see
	// NetworkManager.
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

// Fingerprint is a driver's state of health and the node attributes it adds.
type Fingerprint struct {
	Health            HealthState
	HealthDescription string // in Nomad's words "Healthy", "disabled", or what is wrong
	Disabled          bool   // by the config file
	// Attributes are none when the driver is undetected, and otherwise at least
	// "driver.<name>": "1".
	Attributes map[string]string
}

// Healthy is the fingerprint of a driver that can be used.
func Healthy(driver string) Fingerprint {
	return Fingerprint{Health: HealthHealthy, HealthDescription: "Healthy", Attributes: map[string]string{"driver." + driver: "1"}}
}

// Disabled is the fingerprint of a driver that the config file disables.
func Disabled() Fingerprint {
	return Fingerprint{Health: HealthUndetected, HealthDescription: "disabled", Disabled: true}
}

// Steady is the Fingerprint of a driver whose health never changes.
func Steady(ctx context.Context, f Fingerprint) (<-chan Fingerprint, error) {
	ch := make(chan Fingerprint, 1)
	ch <- f
	context.AfterFunc(ctx, func() { close(ch) })
	return ch, nil
}
