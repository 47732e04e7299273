// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and publishes events. It owns everything that lives during
// a run; callers send it jobs and orders, and follow the events.
package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/grant"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/port"
	"taskrun/engine/registry"
	"taskrun/engine/store"
	"taskrun/jobspec/validate"
)

// Engine runs jobs. Its methods are safe for concurrent use.
type Engine struct {
	*host
	runs jobRuns

	// They end the contexts of the host.
	stop, kill, leave, settle context.CancelFunc

	onRecorder func(*store.Recorder) // for tests that interrupt the recorder
	unread     error                 // why the registry cannot be read

	mu        sync.Mutex
	submitted bool
	closed    bool
}

// New returns an engine that runs nothing yet. The caller must close it.
func New(cfg Config) *Engine {
	if cfg.MaxKillTimeout == 0 {
		cfg.MaxKillTimeout = defaultMaxKillTimeout
	}
	if cfg.MaxAllocs == 0 {
		cfg.MaxAllocs = validate.DefaultMaxAllocs
	}
	cfg.Durable = cfg.Durable || cfg.Resident
	if cfg.Services == nil {
		cfg.Services = &service.Catalog{}
	}
	if cfg.Variables == nil {
		cfg.Variables = &variable.Store{}
	}
	ports := port.NewClaims(cfg.PortDir)
	if cfg.LogicalPorts {
		ports = port.NewLogical()
	}
	ports.Obey(cfg.Ports)
	e := &Engine{host: &host{cfg: cfg, state: newState(), ports: ports, cores: grant.NewCores(cfg.Node)}}
	e.files.limit = cfg.fileLimit()
	e.cores.Apart = cfg.repeats()
	e.runs = jobRuns{done: make(chan struct{}), byKey: map[string]*jobRun{}, opening: map[string]chan struct{}{}}
	e.notice = func(format string, args ...any) {
		e.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf(format, args...)})
	}
	e.allocs = newAllocs(&e.bus)
	e.stopping, e.stop = context.WithCancel(context.Background())
	e.hard, e.kill = context.WithCancel(context.Background())
	e.leaving, e.leave = context.WithCancel(context.Background())
	e.settled, e.settle = context.WithCancel(e.stopping)
	e.watch = newDriverWatch(cfg.Drivers, e.allocs, e.notice)
	e.bus.Observe = e.state.observe
	e.registry = registry.New(&e.bus)
	if cfg.StateDir != "" {
		if kept, err := registry.Open(&e.bus, cfg.StateDir); err != nil {
			e.unread = err
		} else {
			e.registry = kept
		}
	}
	if cfg.Node != nil {
		node := *cfg.Node
		node.ChangeMeta = func(meta map[string]string) map[string]string { return e.registry.MetaOf(node.ID, meta) }
		e.cfg.Node = &node
	}
	cfg.Variables.Restore(e.registry.Variables())
	cfg.Variables.Keep(e.registry.KeepVariable)
	return e
}

// Subscribe returns all events from now on, without the tasks' output unless
// output is set. Subscribe before Submit to miss nothing.
func (e *Engine) Subscribe(output bool) *event.Subscription { return e.bus.Subscribe(output) }

// SubscribeTo returns the events from now on that wanted accepts; see
// [event.Bus.SubscribeTo].
func (e *Engine) SubscribeTo(wanted func(event.Event) bool) *event.Subscription {
	return e.bus.SubscribeTo(wanted)
}

// Say publishes a notice. If it is about a job, the job's history keeps it.
func (e *Engine) Say(n event.Notice) {
	r, err := e.runs.find(n.Job)
	if err != nil { // only followers of the engine read it
		n.Job = ""
		e.bus.Publish(nil, "", n)
		return
	}
	var c store.Change
	c.Add(event.Event{Time: time.Now(), Body: n})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorder.Commit(c)
}

// State returns the fold of the engine's events.
func (e *Engine) State() *State { return e.state }

// Services returns the catalog of the tasks' services and the results of their
// checks.
func (e *Engine) Services() *service.Catalog { return e.cfg.Services }

// Variables returns the store of Nomad variables.
func (e *Engine) Variables() *variable.Store { return e.cfg.Variables }

// Registry returns what the engine knows besides its jobs.
func (e *Engine) Registry() *registry.Registry { return e.registry }

// Ports returns the rules for the ports of jobs.
func (e *Engine) Ports() port.Rules { return e.cfg.Ports }

// Drivers returns the current health of every driver, by name.
func (e *Engine) Drivers(ctx context.Context) map[string]*api.DriverInfo {
	ctx, cancel := context.WithTimeout(ctx, firstWord)
	defer cancel()
	for name := range e.cfg.Drivers {
		e.watch.begin(name)
	}
	infos := make(map[string]*api.DriverInfo, len(e.cfg.Drivers))
	for name := range e.cfg.Drivers {
		infos[name] = e.watch.info(ctx, name)
	}
	return infos
}

// firstWord limits how long Drivers waits for the first fingerprint of a
// driver.
const firstWord = time.Second

// JobHandle asks about a job, and gives it orders. If there is no such job, they
// return an error or nothing.
type JobHandle struct {
	engine *Engine
	key    string
}

// Handle returns a handle on the job with a key.
func (e *Engine) Handle(key string) JobHandle { return JobHandle{e, key} }

// order calls f with the job's lock held, once the state left by an earlier engine is
// known.
func (j JobHandle) order(f func(*jobRun) error) error {
	_, err := withJob(j.engine, j.key, func(r *jobRun) (struct{}, error) { return struct{}{}, f(r) })
	return err
}

// withJob returns the result of f for a job. It waits until the state left by
// an earlier engine is known, and calls f with the job's lock held.
func withJob[T any](e *Engine, key string, f func(*jobRun) (T, error)) (answer T, err error) {
	r, err := e.runs.find(key)
	if err != nil {
		return answer, err
	}
	r.lock()
	defer r.mu.Unlock()
	return f(r)
}

// Placed waits until the first allocations of every submitted or recovered job
// are placed: earlier, Allocs lacks some of them. Call it after Submit or
// Recover.
func (e *Engine) Placed() {
	for _, r := range e.runs.all() {
		r.placing.Wait()
		for _, child := range r.children.all() {
			child.placing.Wait()
		}
	}
}

// Job returns the newest version of a job, which is read only. A purged job has
// none.
func (e *Engine) Job(id string) (*api.Job, bool) {
	r, err := e.runs.find(id)
	if err != nil || r.forgotten.Load() {
		return nil, false
	}
	return r.newest.Load(), true
}

// Jobs returns the newest versions of the submitted jobs, except purged ones.
// For a resident engine, it includes the jobs that these have launched. They are
// read only.
func (e *Engine) Jobs() []*api.Job {
	jobs := []*api.Job{}
	add := func(r *jobRun) {
		if !r.forgotten.Load() {
			jobs = append(jobs, r.newest.Load())
		}
	}
	for _, r := range e.runs.all() {
		add(r)
		if e.cfg.Resident {
			for _, child := range r.children.all() {
				add(child)
			}
		}
	}
	return jobs
}

// Allocs returns the allocations of this run, running and ended, sorted by name
// and then by age. It lacks those that no event has announced yet.
func (e *Engine) Allocs() []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.known, e.state.announced)
}

// AllocsOf returns the allocations of one job, in the same order.
func (e *Engine) AllocsOf(job string) []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.ofJob[job], e.state.announced)
}

// Alloc returns the allocation of this run with an ID.
func (e *Engine) Alloc(id string) (Alloc, bool) {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	a, ok := e.allocs.known[id]
	if !ok || !e.state.announced(id) {
		return Alloc{}, false
	}
	return a.snapshot(), true
}
