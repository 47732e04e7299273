// Package rawexec is Nomad's raw_exec driver: it runs a command as a process of
// this machine, without isolation; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec.
//
// Differences from Nomad: a task has its own session, not only its own process
// group; when a task ends, everything that it started is killed, wherever it
// moved; a task that runs as another user has that user's HOME, USER and
// LOGNAME, and is not in group 0; files outside the allocation are never made
// executable; unknown signal names are errors.
package rawexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

var (
	_ drivers.Driver         = (*Driver)(nil)
	_ drivers.Signaler       = (*Driver)(nil)
	_ drivers.StreamExecer   = (*Driver)(nil)
	_ drivers.StatsCollector = (*Driver)(nil)
	_ drivers.Recoverer      = (*Driver)(nil)
	_ drivers.MemoryEnforcer = (*Driver)(nil)
	_ drivers.Shutdowner     = (*Driver)(nil)
	_ drivers.Configurable   = (*Driver)(nil)
)

// Info names the driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.kind.Name} }

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return d.kind.TaskSchema() }

// Unisolated returns the options of a task that have an effect in Nomad but not
// here.
func (d *Driver) Unisolated() []string { return d.kind.Unisolated }

// OnlyRoot reports whether there is a user with a name, and only root can start a task
// as that user.
func (d *Driver) OnlyRoot(name string) bool {
	if os.Geteuid() == 0 {
		return false
	}
	as, err := lookupAccount(name)
	return err == nil && as != nil && !as.isUs()
}

// Capabilities reports what the driver can do.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: drivers.FSIsolationNone}
}

// Fingerprint reports that the driver is healthy, or disabled, which never
// changes.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	if d.options.disabled() {
		return drivers.Steady(ctx, drivers.Disabled())
	}
	return drivers.Steady(ctx, d.kind.Fingerprint())
}

// StartTask starts the command. The network is always nil.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	if d.options.disabled() {
		return nil, nil, errDisabled
	}
	t, err := d.tasks.Start(cfg.ID, func() (*task, error) { return d.start(cfg) })
	if err != nil {
		return nil, nil, err
	}
	handle, err := t.handle(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, d.DestroyTask(cfg.ID, true))
	}
	return handle, nil, nil
}

// StopTask sends the signal only to the command's process, as Nomad does. When
// that has ended, its descendants are killed without grace.
func (d *Driver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	sig, err := drivers.ParseSignal(signal)
	if err != nil {
		return fmt.Errorf("cannot stop task %q: %w", t.Name, err)
	}
	return t.stop(ctx, timeout, sig)
}

// SignalTask sends a signal only to the command's process.
func (d *Driver) SignalTask(id string, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	sig, err := drivers.ParseSignal(signal)
	if err != nil {
		return err
	}
	return t.process.Signal(sig)
}

// DestroyTask forgets a task once nothing that it started is running.
func (d *Driver) DestroyTask(id string, force bool) error {
	t, err := d.tasks.Destroyable(id, force)
	if err != nil {
		return err
	}
	if err := t.kill(); err != nil {
		return err
	}
	d.tasks.Remove(id)
	t.process.Release()
	return errors.Join(t.process.Err(), t.group.Remove(killWait))
}

// Shutdown kills everything that the tasks of this run left behind.
func (d *Driver) Shutdown(ctx context.Context) (int, error) {
	killed, err := d.run.Shutdown(ctx)
	if d.groups != nil {
		d.closed.Do(func() { err = errors.Join(err, d.groups.Close()) })
	}
	return killed, err
}

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec { return d.kind.ConfigSchema() }

// SetConfig sets the options of the driver.
func (d *Driver) SetConfig(config cty.Value) (err error) {
	if err := taskenv.Decode(config, &d.options); err != nil {
		return fmt.Errorf("cannot configure %s: %w", d.kind.Name, err)
	}
	if d.deniedUIDs, err = ParseIDRanges(d.options.DeniedHostUIDs); err != nil {
		return fmt.Errorf("cannot configure %s: denied_host_uids: %w", d.kind.Name, err)
	}
	if d.deniedGIDs, err = ParseIDRanges(d.options.DeniedHostGIDs); err != nil {
		return fmt.Errorf("cannot configure %s: denied_host_gids: %w", d.kind.Name, err)
	}
	return nil
}
