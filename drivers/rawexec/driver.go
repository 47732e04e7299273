// Package rawexec is Nomad's raw_exec driver: it runs a command as a process
// of this machine, without isolation; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec.
//
// Where it differs from Nomad: a task has its own session, not only its own
// process group; all that a task started dies with it, wherever it went; a
// task that runs as another user has that user's HOME, USER and LOGNAME, and
// is not in group 0; files outside the allocation are never made executable;
// unknown signal names are errors.
package rawexec

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/cgroup"
	"taskrun/drivers/process"
	"taskrun/drivers/taskstore"
)

// Kind is what distinguishes drivers whose tasks are processes of this machine.
type Kind struct {
	Name         string
	TaskSchema   hcldec.ObjectSpec // of a task's config block
	ConfigSchema hcldec.ObjectSpec // of those options of raw_exec that the driver has as well
	Fingerprint  func() drivers.Fingerprint

	// Decode reads a task's config block, an object, into the command that it
	// stands for.
	Decode func(config cty.Value, taskDir string) (*TaskConfig, error)

	// Unisolated are options of a task about its isolation in Nomad, which have
	// no effect here; nil where there is none in Nomad either.
	Unisolated []string
}

var rawExec = Kind{
	Name: "raw_exec", TaskSchema: taskSchema, ConfigSchema: configSchema, Decode: decodeConfig,
	Fingerprint: func() drivers.Fingerprint { return drivers.Healthy("raw_exec") },
}

// Driver is a driver of a kind. Its methods may be called from several
// goroutines at once. Shutdown must be called in the end.
type Driver struct {
	kind   Kind
	config Config
	run    *process.Run
	tasks  taskstore.Store[*task]
	census census
	groups *cgroup.Tree // nil: memory limits are not enforced
	closed sync.Once    // groups
}

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

// New returns the raw_exec driver, without tasks.
func New(config Config) *Driver {
	return &Driver{kind: rawExec, config: config, run: process.NewRun()}
}

// NewOf returns a driver of a kind, without tasks.
func NewOf(kind Kind) *Driver { return &Driver{kind: kind, run: process.NewRun()} }

// Info names the driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.kind.Name} }

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return d.kind.TaskSchema }

// Unisolated returns the options of a task that have no effect here, and would
// have in Nomad.
func (d *Driver) Unisolated() []string { return d.kind.Unisolated }

// Capabilities tells what the driver can do.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: drivers.FSIsolationNone}
}

// Fingerprint says that the driver is healthy, or disabled; that never
// changes.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	if d.config.Disabled {
		return drivers.Steady(ctx, drivers.Disabled())
	}
	return drivers.Steady(ctx, d.kind.Fingerprint())
}

// StartTask starts the command. There is never a network.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	if d.config.Disabled {
		return nil, nil, errDisabled
	}
	if err := d.tasks.Reserve(cfg.ID); err != nil {
		return nil, nil, err
	}
	t, err := d.start(cfg)
	if err != nil {
		d.tasks.Remove(cfg.ID)
		return nil, nil, err
	}
	d.tasks.Put(cfg.ID, t)
	handle, err := t.handle(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, d.DestroyTask(cfg.ID, true))
	}
	return handle, nil, nil
}

// WaitTask tells how the command ended.
func (d *Driver) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	return t.exit.Wait(ctx), nil
}

// StopTask sends the signal to the command's process alone, as Nomad does.
// What the command started is killed when it has ended, without a grace.
func (d *Driver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	sig, err := drivers.ParseSignal(signal)
	if err != nil {
		return fmt.Errorf("cannot stop task %q: %w", t.name, err)
	}
	return t.stop(ctx, timeout, sig)
}

// SignalTask sends a signal to the command's process alone.
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

// DestroyTask forgets a task when nothing that it started lives any more.
func (d *Driver) DestroyTask(id string, force bool) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if !force && t.running() {
		return errors.New("cannot destroy running task")
	}
	if err := t.kill(); err != nil {
		return err
	}
	d.tasks.Remove(id)
	t.process.Release()
	return errors.Join(t.process.Err(), removeGroup(t.group, killWait))
}

// InspectTask returns what is known of a task, with the attribute "pid".
func (d *Driver) InspectTask(id string) (*drivers.TaskStatus, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	status := &drivers.TaskStatus{
		ID:         id,
		Name:       t.name,
		StartedAt:  t.startedAt,
		Attributes: map[string]string{"pid": strconv.Itoa(t.process.Pid())},
	}
	t.exit.Describe(status)
	return status, nil
}

// Shutdown kills what tasks of this run have left behind.
func (d *Driver) Shutdown(ctx context.Context) (int, error) {
	killed, err := d.run.Shutdown(ctx)
	if d.groups != nil {
		d.closed.Do(func() { err = errors.Join(err, d.groups.Close()) })
	}
	return killed, err
}
