package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/fold"
	"taskrun/engine/grant"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/port"
	"taskrun/engine/registry"
	"taskrun/engine/store"
	"taskrun/jobspec/validate"
)

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

// newRecorder returns the recorder that publishes the events of a new run and,
// if the engine is Durable, stores them.
func newRecorder(e *Engine, job *api.Job, source *api.JobSubmission, dir *allocdir.Run) (*store.Recorder, error) {
	if !e.cfg.Durable {
		return store.NewRecorder(&e.bus), nil
	}
	key := e.keyOf(job)
	what := runRecord{Job: key, Began: time.Now()}
	for _, v := range e.cfg.HostEnv {
		what.HostEnv = append(what.HostEnv, store.Text(v))
	}
	var c store.Change
	c.Put(store.KeyOf(runKey), what)
	c.Put(store.KeyOf(jobKey, key), job)
	if source != nil {
		c.Put(store.KeyOf(submissionKey, key, "0"), source)
	}
	recorder, err := store.Create(&e.bus, dir.Dir, c)
	if err == nil && e.onRecorder != nil {
		e.onRecorder(recorder)
	}
	return recorder, err
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
	if err != nil { // nobody but those who follow the engine reads it
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

// Submit starts all jobs, or none. They must be canonicalized and valid; the
// engine owns them from then on, and the caller must not change them. Call it
// only once. It fails for an unknown driver, too many allocations (a
// jobspec.Diagnostic), a job that is already running (allocdir.ErrInUse), a
// static port in use (port.ErrInUse), and a data directory that is not
// writable.
func (e *Engine) Submit(jobs ...*api.Job) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.submitted || e.closed {
		return errors.New("cannot submit a job: the engine was used before")
	}
	if e.unread != nil {
		return e.unread
	}
	runs := make([]*jobRun, 0, len(jobs))
	for i, job := range jobs {
		r, err := open(e, job, nil)
		if err != nil {
			for _, r := range runs {
				err = errors.Join(err, r.recorder.Remove(), r.close())
			}
			return fmt.Errorf("cannot run job %q: %w", *job.ID, err)
		}
		if e.cfg.repeats() {
			r.ports.Sequence = port.NewSequence(i)
		}
		runs = append(runs, r)
	}
	e.begin(runs)
	return nil
}

// open checks whether a job can run, and opens its directory.
func open(e *Engine, job *api.Job, source *api.JobSubmission) (*jobRun, error) {
	if err := e.checkSize(job, nil); err != nil {
		return nil, err
	}
	if err := e.watch.follow(job); err != nil {
		return nil, err
	}
	job.Version, job.SubmitTime, job.CreateIndex = new(uint64(0)), new(time.Now().UnixNano()), nil
	key := e.keyOf(job)
	id := allocdir.NewRunID(time.Now(), e.cfg.Chance.Reader("run", key))
	var dir *allocdir.Run
	var err error
	if e.cfg.Resident {
		dir, err = allocdir.OpenResident(e.cfg.DataDir, key, id, e.cfg.StateDir)
	} else {
		dir, err = allocdir.OpenRun(e.cfg.DataDir, key, id)
	}
	if err != nil {
		return nil, err
	}
	if e.cfg.OnRun != nil {
		e.cfg.OnRun(dir.Dir)
	}
	recorder, err := newRecorder(e, job, source, dir)
	if err != nil {
		return nil, errors.Join(err, discard(e, dir))
	}
	r := newJobRun(e.host, &e.runs, job, dir, port.Recall(dir.PortsFile()), recorder)
	if !launches(job) {
		err = r.ports.Reserve(job)
	}
	if err != nil {
		return nil, errors.Join(err, recorder.Remove(), r.close(), discard(e, dir))
	}
	return r, nil
}

// discard closes the directory of a run that could not begin. A resident engine
// removes it.
func discard(e *Engine, dir *allocdir.Run) error {
	if e.cfg.Resident {
		return dir.Remove()
	}
	return dir.Close()
}

// residentEvaluations is how many evaluations of all its jobs a resident engine
// keeps.
const residentEvaluations = 20_000

// begin runs submitted or recovered jobs. The caller must hold the lock.
func (e *Engine) begin(runs []*jobRun) {
	e.submitted = true
	if lost := e.registry.Lost(); lost != "" {
		e.notice("%s", lost)
	}
	e.runs.add(runs...)
	e.state.Look(func(run *fold.Run) {
		for _, r := range runs {
			run.Jobs = append(run.Jobs, r.job)
			if !r.purged.Load() {
				run.Specify(r.key, r.job)
			}
		}
	})
	if e.cfg.Resident {
		e.state.Look(func(run *fold.Run) { run.KeepEvaluations(residentEvaluations) })
		if last := e.bus.Last(); last > 0 {
			e.state.rise(fold.Index(event.Event{Seq: last}))
		}
		e.runs.going.Add(1)
		context.AfterFunc(e.settled, e.runs.end)
		e.runs.going.Go(e.collectOld)
	}
	for _, r := range runs {
		if e.cfg.Resident {
			r.enter(r.begin)
		} else {
			e.runs.going.Go(r.run)
		}
	}
	go func() {
		e.runs.going.Wait()
		e.runs.leave()
		close(e.runs.done)
	}()
}

// Stopping returns a channel that is closed when nothing new starts any more.
func (e *Engine) Stopping() <-chan struct{} { return e.settled.Done() }

// Stop stops every job like `nomad job stop`: kill signals, grace periods,
// poststop tasks. It does not wait; see Done. The jobs of a resident engine stay
// registered: after Recover, another one runs what was stopped here once more.
func (e *Engine) Stop() {
	storeOrder(e, orderStop)
	e.stop()
}

// Kill kills every task at once. It does not wait.
func (e *Engine) Kill() {
	storeOrder(e, orderKill)
	e.stop()
	e.kill()
}

// storeOrder stores how every run should end. The jobs of a resident engine do
// not end: the next engine runs them again.
func storeOrder(e *Engine, how string) {
	if !e.cfg.Durable || e.leaving.Err() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs.all() {
		if !e.cfg.Resident {
			var c store.Change
			c.Put(store.KeyOf(orderKey), how)
			r.recorder.Commit(c)
			continue
		}
		for _, r := range append(r.children.all(), r) {
			r.lock()
			var c store.Change
			r.slots.pause(&c)
			r.recorder.Commit(c)
			r.mu.Unlock()
		}
	}
}

// Leave leaves everything running for an engine that will continue the runs;
// see Recover. It does not wait: Done is closed once nothing happens any more,
// including the end of tasks that are being stopped. Close then does not clean
// up after tasks.
func (e *Engine) Leave() {
	e.leave()
	e.settle()
}

// Done returns a channel that is closed when every submitted job has ended.
func (e *Engine) Done() <-chan struct{} { return e.runs.done }

// Close kills all running tasks and the processes they left behind, and ends
// the subscriptions. When it returns, no process of any task is left, unless it
// returns an error or ctx has ended. It does not wait for jobs after ctx has
// ended.
func (e *Engine) Close(ctx context.Context) error {
	left := e.leaving.Err() != nil
	if !left {
		e.Kill()
	}
	e.mu.Lock()
	closed, submitted := e.closed, e.submitted
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if submitted {
		select {
		case <-e.runs.done:
		case <-ctx.Done():
			err = fmt.Errorf("the engine has not ended: %w", context.Cause(ctx))
		}
	}
	e.watch.end()
	if !left && err == nil {
		err = sweep(ctx, e.cfg.Drivers, e.notice)
	}
	e.cfg.Variables.Close()
	e.bus.Close()
	return errors.Join(err, e.registry.Close())
}

// sweep lets drivers remove the processes and containers that tasks left
// behind.
func sweep(ctx context.Context, catalog map[string]drivers.Driver, notice func(string, ...any)) (err error) {
	for _, name := range slices.Sorted(maps.Keys(catalog)) {
		s, ok := catalog[name].(drivers.Shutdowner)
		if !ok {
			continue
		}
		killed, failure := s.Shutdown(ctx)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("cannot clean up after %s tasks: %w", name, failure))
		}
		switch {
		case killed == 1:
			notice("killed 1 process that %s tasks had left behind", name)
		case killed > 1:
			notice("killed %d processes that %s tasks had left behind", killed, name)
		}
	}
	return err
}
