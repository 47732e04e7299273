// Package docker is Nomad's docker driver: a task is a container of a Docker
// engine; see https://developer.hashicorp.com/nomad/docs/drivers/docker.
//
// The driver uses the engine's API, at DOCKER_HOST or where the docker command
// finds it, and not before a task needs it. All containers have the labels of
// package daemon, by which they are found and removed if the process that made
// them has died.
//
// Other drivers whose tasks are containers share the engine client; see Front.
//
//	daemon    where the engine is, its errors, the containers of taskrun
//	settings  options and config block → container; talks to no engine
//	image     images: pull, load, credentials, progress
package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/moby/moby/client"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/image"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/eventer"
	"taskrun/drivers/schema"
	"taskrun/drivers/taskstore"
)

// Config is the configuration of the driver, for all tasks.
type Config struct {
	// Host is the address of the engine, e.g. unix:///run/docker.sock. Empty:
	// DOCKER_HOST, then the context of the docker command, then the default.
	Host string
	// Run is the value of the label that names the run; empty: a random one.
	Run string
	// Front is the driver of Nomad that this is; nil: docker.
	Front *Front
	// Absence is how long an engine may be away, for a restart, before its
	// containers count as lost; 0: a minute.
	Absence time.Duration
}

// Driver is the docker driver. Its methods are safe for concurrent use. The
// caller must call Shutdown at the end.
type Driver struct {
	eventer.Eventer
	*engine
	*machine
	*networks
	tasks // WaitTask and InspectTask

	absence time.Duration
	options settings.Options
	builder settings.Builder
	images  image.Store
}

var (
	_ drivers.Driver         = (*Driver)(nil)
	_ drivers.Configurable   = (*Driver)(nil)
	_ drivers.Unheeder       = (*Driver)(nil)
	_ drivers.Recoverer      = (*Driver)(nil)
	_ drivers.Signaler       = (*Driver)(nil)
	_ drivers.StreamExecer   = (*Driver)(nil)
	_ drivers.StatsCollector = (*Driver)(nil)
	_ drivers.MemoryEnforcer = (*Driver)(nil)
	_ drivers.EventSource    = (*Driver)(nil)
	_ drivers.HostPathUser   = (*Driver)(nil)

	_ drivers.Lasting    = (*Driver)(nil) // by its engine
	_ drivers.Shutdowner = (*Driver)(nil)

	_ drivers.Outsider       = (*Driver)(nil) // by its machine
	_ drivers.NetworkManager = (*Driver)(nil) // by its networks
	_ drivers.NetworkUser    = (*Driver)(nil)
	_ drivers.Finder         = (*Driver)(nil)
)

// New returns a driver without tasks. It does not look for an engine.
func New(config Config) *Driver {
	d := &Driver{absence: cmp.Or(config.Absence, time.Minute), options: settings.Defaults()}
	d.engine = newEngine(cmp.Or(config.Front, dockerFront), cmp.Or(config.Run, rand.Text()), config.Host, &d.options)
	d.builder = settings.Builder{Options: &d.options, Run: d.run}
	d.images = image.Store{Options: &d.options, Events: &d.Eventer}
	d.machine = &machine{engine: d.engine}
	d.networks = &networks{engine: d.engine, machine: d.machine, images: &d.images, builder: &d.builder, revived: map[string]*revivals{}}
	return d
}

type tasks = taskstore.Store[*task]

func (d *Driver) newTask(cli *client.Client, cfg *drivers.TaskConfig, id string) *task {
	t := &task{Life: taskstore.NewLife(cfg.Name), cli: cli, front: d.front, events: &d.Eventer, absence: d.absence, cfg: cfg, container: id}
	t.Attributes = map[string]string{"container_id": id}
	t.interest, t.forget = context.WithCancel(context.Background())
	return t
}

// taskSchema is computed on first use: most runs have no such task.
var taskSchema = sync.OnceValue(schema.Of[settings.Config])

// Info names the driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.front.Name} }

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return taskSchema() }

// Capabilities returns properties of the driver.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: drivers.FSIsolationImage, MustInitiateNetwork: true}
}

// StopTask sends the signal to the first process of the container. The default
// is the stop signal of the image, or SIGTERM.
func (d *Driver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if signal != "" {
		if _, err := drivers.ParseSignal(signal); err != nil {
			return fmt.Errorf("cannot stop task %q: %w", t.cfg.Name, err)
		}
	}
	return t.stop(ctx, timeout, signal)
}

// SignalTask sends a signal to the first process of the container.
func (d *Driver) SignalTask(id string, signal string) error {
	t, err := d.tasks.Get(id)
	if err != nil {
		return err
	}
	if _, err := drivers.ParseSignal(signal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemon.ReplyTime)
	defer cancel()
	return t.signal(ctx, signal)
}

// DestroyTask forgets a task and removes its container, with its anonymous
// volumes.
func (d *Driver) DestroyTask(id string, force bool) error {
	t, err := d.tasks.Destroyable(id, force)
	if err != nil {
		return err
	}
	err = t.remove()
	d.tasks.Remove(id)
	return err
}

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
