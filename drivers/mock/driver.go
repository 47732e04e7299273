// Package mock is Nomad's mock_driver. Its tasks are scripts in the job file that
// take time, write output and end, without any process. It also works in virtual
// time (testing/synctest).
//
// Differences from Nomad: kill_after, which has no effect there, delays the end
// of a task that is stopped, no longer than the kill timeout; commands in a task
// end with it and with their client; stats come every interval; unknown signals,
// durations and isolations are errors.
package mock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/schema"
	"taskrun/drivers/taskstore"
)

// Driver is the mock driver. Its methods may be called from several
// goroutines at once.
type Driver struct {
	tasks // WaitTask and InspectTask
	// LikeProcesses: a task that is killed ends with exit code 137 and signal 9,
	// as a process would, and not as its script says.
	LikeProcesses bool

	isolation  drivers.FSIsolation
	disabledAt time.Time // zero: never
}

type tasks = taskstore.Store[*task]

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
func New() *Driver { return &Driver{isolation: drivers.FSIsolationNone} }

// Info names the driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: "mock_driver"} }

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return schema.Of[config]() }

// Capabilities returns properties of the driver.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: d.isolation}
}

// StartTask starts a task as its script says. Its network is never nil, but
// may be empty.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	t, err := d.tasks.Start(cfg.ID, func() (*task, error) { return start(ctx, cfg) })
	if err != nil {
		return nil, nil, err
	}
	return cfg.Handle(t.StartedAt.AppendFormat(nil, time.RFC3339Nano)), t.network, nil
}

// RecoverTask runs a task for the rest of its run_for, without its output;
// plugin_exit_after starts again. It also recovers a task that ended with
// drivers.ErrPluginShutdown. As there is no process to look for, a task is
// running if its handle says that it was started.
func (d *Driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil || handle.Config == nil {
		return errors.New("cannot recover a task without a handle")
	}
	id := handle.Config.ID
	if _, err := d.tasks.Running(id); err == nil {
		return nil
	}
	if len(handle.DriverState) == 0 {
		return drivers.ErrTaskNotFound
	}
	startedAt, err := time.Parse(time.RFC3339Nano, string(handle.DriverState))
	if err != nil {
		return fmt.Errorf("cannot recover task %q: its state is not a time: %w", id, err)
	}
	t, err := recovered(handle.Config, startedAt)
	if err != nil {
		return err
	}
	d.tasks.Put(id, t)
	return nil
}

// StopTask ends a task after its kill_after, or after the timeout if that is
// shorter, which kills it. Of the signals only SIGKILL makes a difference, for
// tasks that are like processes.
func (d *Driver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	force := timeout <= 0 || signal == "SIGKILL"
	if !force {
		t.Await(ctx, min(t.KillAfter, timeout))
		force = t.KillAfter > timeout || ctx.Err() != nil
	}
	t.end(force && d.LikeProcesses)
	return nil
}

// SignalTask does nothing, or fails with the task's signal_error. A task that is
// like a process cannot ignore SIGKILL.
func (d *Driver) SignalTask(id string, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if _, err := drivers.ParseSignal(signal); err != nil {
		return err
	}
	if err := failure(t.SignalError); err != nil || signal != "SIGKILL" || !d.LikeProcesses {
		return err
	}
	t.end(true)
	return nil
}

// DestroyTask forgets a task, and with force ends it first.
func (d *Driver) DestroyTask(id string, force bool) error {
	t, err := d.tasks.Destroyable(id, force)
	if err != nil {
		return err
	}
	t.end(d.LikeProcesses)
	d.tasks.Remove(id)
	return nil
}

// TaskStats makes samples up: some resident memory, and nothing else.
func (d *Driver) TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	return d.tasks.Sample(ctx, id, interval, sample)
}

func sample(*task) *drivers.TaskResourceUsage {
	return &drivers.TaskResourceUsage{TaskResourceUsage: api.TaskResourceUsage{
		ResourceUsage: &api.ResourceUsage{
			MemoryStats: &api.MemoryStats{RSS: rand.Uint64N(1 << 30), Measured: []string{drivers.MeasuredRSS}},
			CpuStats:    &api.CpuStats{},
		},
		Timestamp: time.Now().UnixNano(),
		Pids:      map[string]*api.ResourceUsage{},
	}}
}
