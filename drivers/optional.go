package drivers

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Configurable is a driver with options for all its tasks: in Nomad, and in the
// config file of taskrun, those of a block plugin "name" { config { … } }.
type Configurable interface {
	// ConfigSchema describes the options. It is constant.
	ConfigSchema() hcldec.Spec

	// SetConfig takes the options, decoded by ConfigSchema; what was left out
	// is null. It is called at most once, before any other method but Info,
	// ConfigSchema and TaskConfigSchema; without it every option has its
	// default. After an error the driver must not be used. The error names
	// the option.
	SetConfig(config cty.Value) error
}

// Unheeder is a Configurable that knows options of Nomad's driver which have no
// effect here.
type Unheeder interface {
	// Unheeded returns those among the options, which may be taken or not.
	Unheeded(config cty.Value) []Unheeded
}

// Unheeded is an option that has no effect.
type Unheeded struct {
	Option  string // its name, behind those of its blocks and dots
	Instead string // what happens, in a few words
}

// Recoverer is a driver that can find a task again that it, or an earlier
// instance of it in a process that is gone, has started.
type Recoverer interface {
	// RecoverTask registers the task of a handle again, under the ID that its
	// Config has. A task that is registered and runs is no error, and stays as
	// it is. One that cannot be found is ErrTaskNotFound, and not registered.
	//
	// A handle without DriverState means that a start was intended and nobody
	// knows whether it happened: the driver looks for the task by what its
	// Config says. It is registered if it was started, otherwise the error is
	// ErrTaskNotFound, and it can be started.
	RecoverTask(handle *TaskHandle) error
}

// Mount is a file or directory of the host that a task sees at a path of its
// own.
type Mount struct {
	HostPath        string
	TaskPath        string
	Readonly        bool
	PropagationMode string // private, host-to-task or bidirectional
}

// Device is a device of the host that a task may use.
type Device struct {
	HostPath    string
	TaskPath    string
	Permissions string // of "rwm", as in cgroups
}
