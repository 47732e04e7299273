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
