// Package mock is Nomad's mock_driver: its tasks are scripts in the job file
// that take time, write output and end as told, without any process. It also
// works in virtual time (testing/synctest).
//
// Where it differs from Nomad: kill_after, which has no effect there, delays
// the end of a task that is stopped, no longer than the kill timeout; commands
// run in a task end with it and with whoever runs them; stats come every
// interval; unknown signals, durations and isolations are errors.
package mock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

// handleVersion is the version of the task handles made here.
const handleVersion = 1

// Driver is the mock driver. Its methods may be called from several
// goroutines at once.
type Driver struct {
	options options
	tasks   taskstore.Store[*task]
}

var (
	_ drivers.Driver         = (*Driver)(nil)
	_ drivers.Configurable   = (*Driver)(nil)
	_ drivers.Signaler       = (*Driver)(nil)
	_ drivers.Execer         = (*Driver)(nil)
	_ drivers.StreamExecer   = (*Driver)(nil)
	_ drivers.StatsCollector = (*Driver)(nil)
	_ drivers.Recoverer      = (*Driver)(nil)
)

// New returns a driver without tasks.
func New() *Driver { return &Driver{options: defaults()} }

// Info names the driver.
func (d *Driver) Info() drivers.Info {
	return drivers.Info{Name: "mock_driver", Version: "0.1.0"}
}

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return taskSchema }

// Capabilities tells what the driver can do.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		SendSignals: true, Exec: true, FSIsolation: d.options.fsIsolation, Mounts: drivers.MountSupportNone,
	}
}

// StartTask starts a task as its script says. Its network is never nil, but
// may be empty.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	if err := d.tasks.Reserve(cfg.ID); err != nil {
		return nil, nil, err
	}
	t, err := start(ctx, cfg)
	if err != nil {
		d.tasks.Remove(cfg.ID)
		return nil, nil, err
	}
	d.tasks.Put(cfg.ID, t)
	handle := &drivers.TaskHandle{
		Version: handleVersion, Config: cfg, State: drivers.TaskStateRunning,
		DriverState: t.startedAt.AppendFormat(nil, time.RFC3339Nano),
	}
	network := t.network
	return handle, &network, nil
}

// RecoverTask goes on with a task for what is left of its run_for, without its
// output; plugin_exit_after begins anew. A task that ended with
// drivers.ErrPluginShutdown goes on as well. As there is no process to look
// for, every task of which the handle says that it was started is taken for
// running, and one of which it does not, if it is not known here, for none.
func (d *Driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil || handle.Config == nil {
		return errors.New("cannot recover a task without a handle")
	}
	id := handle.Config.ID
	if t, err := d.tasks.Get(id); err == nil && t.running() {
		return nil
	}
	if len(handle.DriverState) == 0 {
		return drivers.ErrTaskNotFound
	}
	startedAt, err := time.Parse(time.RFC3339Nano, string(handle.DriverState))
	if err != nil {
		return fmt.Errorf("cannot recover task %q: its state is no time: %w", id, err)
	}
	t, err := recovered(handle.Config, startedAt)
	if err != nil {
		return err
	}
	d.tasks.Put(id, t)
	return nil
}

// WaitTask tells how a task ends. With plugin_exit_after that is a result with
// drivers.ErrPluginShutdown.
func (d *Driver) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	return t.exit.Wait(ctx), nil
}

// StopTask ends a task after its kill_after, or after the timeout if that is
// shorter. The signal makes no difference.
func (d *Driver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	t.exit.Await(ctx, min(t.killAfter, timeout))
	t.end()
	return nil
}

// SignalTask does nothing, or fails with the task's signal_error.
func (d *Driver) SignalTask(id string, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if _, err := drivers.ParseSignal(signal); err != nil {
		return err
	}
	return t.signalError
}

// DestroyTask forgets a task, and with force ends it first.
func (d *Driver) DestroyTask(id string, force bool) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if !force && t.running() {
		return errors.New("cannot destroy running task")
	}
	t.end()
	d.tasks.Remove(id)
	return nil
}

// InspectTask returns what is known of a task.
func (d *Driver) InspectTask(id string) (*drivers.TaskStatus, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	status := &drivers.TaskStatus{ID: id, Name: t.name, StartedAt: t.startedAt}
	t.exit.Describe(status)
	return status, nil
}
