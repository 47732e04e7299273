package drivers

import (
	"context"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Configurable is a driver with options for all its tasks: in Nomad, and in the
// config file of taskrun, those of a block plugin "name" { config { … } }.
type Configurable interface {
	// ConfigSchema describes the options. It is constant.
	ConfigSchema() hcldec.Spec

	// SetConfig sets the options, decoded by ConfigSchema; unset options are
	// null. It is called at most once, before any other method except Info,
	// ConfigSchema and TaskConfigSchema. After an error, which names the
	// option, the driver must not be used.
	SetConfig(config cty.Value) error
}

// Unheeder is a Configurable with options of Nomad's driver that have no effect
// here.
type Unheeder interface {
	// Unheeded returns such options among the given ones, whether valid or not.
	Unheeded(config cty.Value) []Unheeded
}

// ConfigUnheeder is a driver with options in config blocks that have no effect
// here.
type ConfigUnheeder interface {
	// UnheededInConfig returns such options of a config block that is not
	// evaluated yet.
	UnheededInConfig(config map[string]any) []Unheeded
}

// Unheeded is an option that has no effect.
type Unheeded struct {
	Option  string // such as "gc.image"
	Instead string // what happens, in a few words
}

// Recoverer is a driver that can find a task started by itself or by an earlier
// instance in another process.
type Recoverer interface {
	// RecoverTask registers the task of a handle under the ID in its Config. A
	// registered and running task is left alone. If the task cannot be found,
	// the error is ErrTaskNotFound.
	//
	// A handle without DriverState means that a start was intended and may have
	// happened: the driver looks for the task by its Config. If it was not
	// started, the error is ErrTaskNotFound, and it can be started.
	RecoverTask(handle *TaskHandle) error
}

// MemoryEnforcer is a driver that can enforce the memory limits of tasks. By
// default it may only measure them.
type MemoryEnforcer interface {
	// EnforceMemory makes the system kill a task that exceeds
	// Resources.MemoryLimitBytes. It is called at most once, before any task
	// starts. The error says what this machine lacks.
	EnforceMemory() error

	// EnforcesMemory reports whether limits are enforced.
	EnforcesMemory() bool
}

// HostPathUser is a driver whose tasks may mount paths of the host.
type HostPathUser interface {
	// HostPaths returns the host paths in a config block, as written there.
	HostPaths(config map[string]any) []HostPath

	// SetHostPaths sets the function that returns what to mount for a path; ""
	// means nothing. By default tasks get the path itself. It is called before
	// any task starts.
	SetHostPaths(find func(path string) (string, error))
}

// HostPath is a host path in a config block.
type HostPath struct {
	Option string // name of the option
	Path   string
}

// Outsider is a driver whose tasks may have networks of their own, in which the
// loopback address of this machine is not that of the machine.
type Outsider interface {
	// Machine returns where those tasks reach this machine. It asks only once.
	Machine(ctx context.Context) (Machine, error)
	// Outside reports whether a task with a config block has a network of its
	// own or that of its group, and the labels of the ports that are forwarded
	// to the task itself.
	Outside(config map[string]any) (outside bool, ports []string)
}

// Machine is where tasks in other networks reach this machine.
type Machine struct {
	// Address is an IP address, or a name that only these tasks know.
	Address string
	// Here says that Address is an address of this machine: the driver forwards
	// ports from there as well, and the engine need not. Only programs that listen
	// at the loopback address alone still need that.
	Here bool
}

// Lasting is a driver whose tasks outlive the program that started them,
// because they are not its processes.
type Lasting interface {
	// OnUse makes the driver call tell once, before the first task starts, with
	// a reference for CleanUp. It is called before any other method except
	// SetConfig.
	OnUse(tell func(ref string))

	// CleanUp removes everything that a driver in another program left behind,
	// given its reference. No other method has to be called before it.
	CleanUp(ctx context.Context, ref string) error
}

// Leftover is something that a driver made for an allocation, in this program or
// an earlier one.
type Leftover struct {
	ID       string // the driver's own
	Name     string // for people
	AllocDir string // the run that needs the leftover is locked
}

// Finder is a driver that finds everything it has made and not removed, even
// after a power failure.
type Finder interface {
	// Leftovers returns everything, including that of live runs.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// RemoveLeftover removes a leftover. A missing one is no error.
	RemoveLeftover(ctx context.Context, l Leftover) error
}
