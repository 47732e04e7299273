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
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/moby/moby/client"

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

	config    Config
	front     *Front
	options   settings.Options
	engine    func() (daemon.Endpoint, error) // the first call finds the engine
	connect   func() (*client.Client, error)  // the first call creates the client
	connected atomic.Bool                     // connect was called
	used      atomic.Bool                     // the engine may have containers of this run
	onUse     func()                          // called before that; may be nil
	tasks     taskstore.Store[*task]

	machineMu  sync.Mutex
	machine    *drivers.Machine // nil until the engine was asked
	machineErr error

	mu        sync.Mutex
	runs      map[string]bool          // Shutdown removes their containers
	listeners map[*insideListener]bool // in networks of groups
	revived   map[string]*revivals     // by container of a network

	networking sync.Mutex // held while a group enters or leaves a shared network

	images  image.Store
	builder settings.Builder
}

var (
	_ drivers.Driver      = (*Driver)(nil)
	_ drivers.Signaler    = (*Driver)(nil)
	_ drivers.EventSource = (*Driver)(nil)
	_ drivers.Shutdowner  = (*Driver)(nil)
)

// New returns a driver without tasks. It does not look for an engine.
func New(config Config) *Driver {
	config.Absence, config.Run = cmp.Or(config.Absence, time.Minute), cmp.Or(config.Run, rand.Text())
	d := &Driver{
		config: config, front: cmp.Or(config.Front, dockerFront), options: settings.Defaults(), runs: map[string]bool{config.Run: true},
		listeners: map[*insideListener]bool{}, revived: map[string]*revivals{},
	}
	d.images = image.Store{Options: &d.options, Events: &d.Eventer}
	d.builder = settings.Builder{Options: &d.options, Run: config.Run}
	d.engine = sync.OnceValues(func() (daemon.Endpoint, error) {
		return d.front.Find(cmp.Or(d.config.Host, d.options.Endpoint), &d.options)
	})
	d.connect = sync.OnceValues(func() (*client.Client, error) {
		engine, err := d.engine()
		if err != nil {
			return nil, err
		}
		d.connected.Store(true)
		return engine.Client()
	})
	return d
}

func (d *Driver) newTask(cli *client.Client, cfg *drivers.TaskConfig, id string) *task {
	t := &task{cli: cli, front: d.front, events: &d.Eventer, absence: d.config.Absence, cfg: cfg, container: id, Life: taskstore.NewLife(cfg.Name)}
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

// WaitTask reports how the container ended. The error in the result is Nomad's,
// which repeats an exit code other than 0.
func (d *Driver) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	return d.tasks.Wait(ctx, id)
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

// InspectTask returns the status of a task, with the attribute
// "container_id".
func (d *Driver) InspectTask(id string) (*drivers.TaskStatus, error) {
	return d.tasks.Inspect(id)
}

// Shutdown removes the remaining containers of this run.
func (d *Driver) Shutdown(ctx context.Context) (int, error) {
	if !d.connected.Load() {
		return 0, nil
	}
	cli, err := d.connect()
	if err != nil {
		return 0, nil //nolint:nilerr // without a client nothing was started
	}
	defer cli.Close()
	if !d.used.Load() {
		return 0, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	removed := 0
	for run := range d.runs {
		n, err := daemon.RemoveRun(ctx, cli, run)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("%w; taskrun clean removes what is left", err)
		}
	}
	return removed, nil
}

// adopt makes Shutdown remove the containers of an earlier run, too.
func (d *Driver) adopt(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used.Store(true)
	if run != "" {
		d.runs[run] = true
	}
}
