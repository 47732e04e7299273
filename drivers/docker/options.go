package docker

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/schema"
)

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec { return schema.Of[settings.Options]() }

// SetConfig sets the options of the driver.
func (d *Driver) SetConfig(config cty.Value) error {
	o, err := settings.DecodeOptions(config)
	if err != nil {
		return fmt.Errorf("cannot configure docker: %w", err)
	}
	d.SetOptions(o)
	return nil
}

// SetOptions sets the options, which are valid.
func (d *Driver) SetOptions(o settings.Options) { d.options = o }

// Unheeded returns the options that have no effect.
func (d *Driver) Unheeded(config cty.Value) []drivers.Unheeded { return settings.Unheeded(config) }

// SetHostPaths sets the function that maps host paths.
func (d *Driver) SetHostPaths(find func(path string) (string, error)) { d.builder.HostPath = find }

// HostPaths returns the host paths in a config block.
func (d *Driver) HostPaths(config map[string]any) []drivers.HostPath {
	return settings.HostPaths(config)
}

// EnforceMemory does nothing: the engine enforces the limits of all containers.
func (d *Driver) EnforceMemory() error { return nil }

// EnforcesMemory returns true.
func (d *Driver) EnforcesMemory() bool { return true }
