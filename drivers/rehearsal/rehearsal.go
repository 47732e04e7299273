// Package rehearsal is the driver of a rehearsal: it takes the place of another
// driver, with its name, its config block and its view of the file system, and
// runs nothing. Its tasks are those of mock_driver, with a script of the
// rehearsal.
package rehearsal

import (
	"context"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/mock"
)

// Forever is the RunFor of a task that runs until it is stopped.
const Forever time.Duration = math.MaxInt64

// Script is what a task does.
type Script struct {
	RunFor   time.Duration // 0: it ends at once
	ExitCode int
}

// Role is what the driver has from the driver whose place it takes.
type Role struct {
	Name   string
	Schema hcldec.Spec // of the config block
	FS     drivers.FSIsolation
}

// RoleOf returns the role of a driver.
func RoleOf(d drivers.Driver) Role {
	return Role{Name: d.Info().Name, Schema: d.TaskConfigSchema(), FS: d.Capabilities().FSIsolation}
}

// Driver plays scripts in the role of another driver.
type Driver struct {
	*mock.Driver
	role   Role
	script func(*drivers.TaskConfig) Script
}

var _ drivers.Driver = (*Driver)(nil)

// New returns a driver without tasks. Each start of a task calls script.
func New(role Role, script func(*drivers.TaskConfig) Script) *Driver {
	return &Driver{mock.New(), role, script}
}

// Info returns the name of the other driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.role.Name} }

// TaskConfigSchema returns the schema of the other driver.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return d.role.Schema }

// Capabilities are those of mock_driver, with the other driver's view of the file
// system.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: d.role.FS}
}

// Fingerprint reports that the driver is healthy, whether the other one is or not.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	return drivers.Steady(ctx, drivers.Healthy(d.role.Name))
}

// StartTask starts a task that plays its script in place of its config.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	s := d.script(cfg)
	played := *cfg
	played.Config = cty.ObjectVal(map[string]cty.Value{
		"run_for":   cty.StringVal(s.RunFor.String()),
		"exit_code": cty.NumberIntVal(int64(s.ExitCode)),
	})
	return d.Driver.StartTask(ctx, &played)
}
