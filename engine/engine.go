// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and tells what happens. It is the façade behind which
// everything that lives during a run has its owner: whoever uses the engine
// sends it jobs and orders, and hears of the rest as events.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/port"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// defaultMaxKillTimeout is Nomad's default of the client's max_kill_timeout.
const defaultMaxKillTimeout = 30 * time.Second

// keptRuns is how many runs of a job stay on disk.
const keptRuns = 5

// keptAllocs is how many allocations that were replaced stay on disk for each
// that runs.
const keptAllocs = 5

// Config is what an engine needs to know of its surroundings.
type Config struct {
	DataDir string                    // where runs are kept; see allocdir
	Drivers map[string]drivers.Driver // by name
	Hooks   hooks.Catalog
	Node    *taskenv.Node // what ${node.…} and ${attr.…} read
	HostEnv []string      // "K=V", what tasks inherit
	// Services is where the hooks register what tasks offer; nil if none does.
	Services *service.Catalog
	// Variables is where Nomad's variables are that tasks may read; nil if there
	// are none.
	Variables *variable.Store
	// PortDir is where engines of this user tell each other which ports they
	// gave out. Empty: they do not.
	PortDir string
	// LogicalPorts: nobody listens on the ports that are given out, so it does
	// not matter who else has them.
	LogicalPorts bool
	// MaxKillTimeout caps kill_timeout; 0 means 30s, Nomad's default of
	// max_kill_timeout.
	MaxKillTimeout time.Duration
	// MaxAllocs is how many allocations a job may have; 0 means
	// validate.DefaultMaxAllocs.
	MaxAllocs int
	// Durable: what a later engine needs to take up the runs is stored as they
	// go, see Recover. Without it the directories hold only what tasks made.
	Durable bool
	// OnRun, if set, is called with the directory of each run before anything
	// is put into it: whoever cleans up when this program is killed must know.
	OnRun func(dir string)
}

// Engine runs jobs. Its methods may be called from several goroutines at once.
type Engine struct {
	cfg   Config
	bus   event.Bus
	state *state
	ports *port.Claims
	cores *coreClaims

	stopping context.Context // done: every job is to end
	stop     context.CancelFunc
	hard     context.Context // done: and at once
	kill     context.CancelFunc
	leaving  context.Context // done: every task is left to itself
	leave    context.CancelFunc
	settled  context.Context // done: nothing new begins, for one of these reasons
	settle   context.CancelFunc

	jobs sync.WaitGroup
	done chan struct{}
	// finding counts what may have tasks that are yet to be found again.
	finding sync.WaitGroup
	watch   *driverWatch

	onRecorder func(*store.Recorder) // for tests, who interrupt it

	mu        sync.Mutex
	allocs    map[string]*runner.Alloc // living and ended ones, by ID
	unwanted  map[*runner.Alloc]string // why they are not to run on
	purged    map[string]bool          // jobs that are forgotten, by ID
	runs      []*jobRun
	submitted bool
	closed    bool
}

// New returns an engine that runs nothing yet. It must be closed.
func New(cfg Config) *Engine {
	if cfg.MaxKillTimeout == 0 {
		cfg.MaxKillTimeout = defaultMaxKillTimeout
	}
	if cfg.MaxAllocs == 0 {
		cfg.MaxAllocs = validate.DefaultMaxAllocs
	}
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
	e := &Engine{cfg: cfg, state: newState(), ports: ports, cores: newCoreClaims(cfg.Node), done: make(chan struct{}), allocs: map[string]*runner.Alloc{}, unwanted: map[*runner.Alloc]string{}, purged: map[string]bool{}}
	e.stopping, e.stop = context.WithCancel(context.Background())
	e.hard, e.kill = context.WithCancel(context.Background())
	e.leaving, e.leave = context.WithCancel(context.Background())
	e.settled, e.settle = context.WithCancel(e.stopping)
	e.watch = newDriverWatch(e)
	e.bus.Observe = e.state.observe
	cfg.Variables.Stamp(func(v *api.VariableMetadata, deleted bool) uint64 {
		shown := *v
		return fold.Index(event.Event{Seq: e.bus.Publish(nil, "", event.Variable{VariableMetadata: &shown, Deleted: deleted})})
	})
	return e
}

// Subscribe returns every event from now on; without output the tasks' own
// output is left out. Subscribe before Submit to miss nothing.
func (e *Engine) Subscribe(output bool) *event.Subscription { return e.bus.Subscribe(output) }

// SubscribeTo returns the events from now on that are wanted; see
// [event.Bus.SubscribeTo].
func (e *Engine) SubscribeTo(wanted func(event.Event) bool) *event.Subscription {
	return e.bus.SubscribeTo(wanted)
}

// Services is the catalog of what tasks offer and what their checks say.
func (e *Engine) Services() *service.Catalog { return e.cfg.Services }

// Variables is the store of Nomad's variables.
func (e *Engine) Variables() *variable.Store { return e.cfg.Variables }

// Submit starts jobs, all or none. They must be canonicalised and valid, and
// belong to the engine from now on: nobody may write to them any more. It may
// be called once. Errors: an unknown driver, a job with too many allocations (a
// jobspec.Diagnostic), a job that runs already (allocdir.ErrInUse), a static port that somebody has (port.ErrInUse), a data
// directory that cannot be written.
func (e *Engine) Submit(jobs ...*api.Job) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.submitted || e.closed {
		return errors.New("cannot submit a job: the engine was used before")
	}
	runs := make([]*jobRun, 0, len(jobs))
	for _, job := range jobs {
		r, err := e.open(job)
		if err != nil {
			for _, r := range runs {
				err = errors.Join(err, r.recorder.Remove(), r.close())
			}
			return fmt.Errorf("cannot run job %q: %w", *job.ID, err)
		}
		runs = append(runs, r)
	}
	e.begin(runs)
	return nil
}

// begin runs what was submitted or recovered. The lock is held.
func (e *Engine) begin(runs []*jobRun) {
	e.submitted = true
	e.runs = runs
	e.finding.Add(len(runs))
	e.Look(func(run *fold.Run) {
		for _, r := range runs {
			run.Jobs = append(run.Jobs, r.job)
		}
	})
	for _, r := range runs {
		e.jobs.Go(r.run)
	}
	go func() {
		e.jobs.Wait()
		close(e.done)
	}()
}

// Stop stops every job as `nomad job stop` would: kill signals, grace periods,
// poststop tasks. It returns at once; Done tells of the end.
func (e *Engine) Stop() {
	e.order(orderStop)
	e.stop()
}

// Kill ends every task at once, without grace. It returns at once.
func (e *Engine) Kill() {
	e.order(orderKill)
	e.stop()
	e.kill()
}

// Leave leaves everything running, for an engine that takes up the runs, see
// Recover. It returns at once; Done tells when nothing happens any more, for
// which tasks that are being stopped are awaited. Close then leaves what
// tasks have left behind.
func (e *Engine) Leave() {
	e.leave()
	e.settle()
}

// Done is closed when every submitted job has ended by itself or was stopped.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Close kills what still runs and what tasks left behind, and ends the
// subscriptions. When it returns no process of any task is left, unless the
// error says otherwise or ctx has ended. It does not wait longer than ctx for
// jobs to end.
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
		case <-e.done:
		case <-ctx.Done():
			err = fmt.Errorf("the engine has not ended: %w", context.Cause(ctx))
		}
	}
	e.watch.end()
	if !left && err == nil {
		err = e.sweep(ctx)
	}
	e.bus.Close()
	return err
}

// sweep has the drivers remove what tasks left behind.
func (e *Engine) sweep(ctx context.Context) (err error) {
	for name, d := range e.cfg.Drivers {
		s, ok := d.(drivers.Shutdowner)
		if !ok {
			continue
		}
		killed, failure := s.Shutdown(ctx)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("cannot clean up after %s tasks: %w", name, failure))
		}
		if killed > 0 {
			e.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf("killed %d processes that %s tasks had left behind", killed, name)})
		}
	}
	return err
}

func (e *Engine) job(id string) (*jobRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		if *r.job.ID == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("job not found: %q", id)
}

// open checks what must hold before a job can run, and opens its directory.
func (e *Engine) open(job *api.Job) (*jobRun, error) {
	if err := e.checkSize(job); err != nil {
		return nil, err
	}
	if err := e.checkDrivers(job); err != nil {
		return nil, err
	}
	job.Version, job.SubmitTime = new(uint64(0)), new(time.Now().UnixNano())
	dir, err := allocdir.OpenRun(e.cfg.DataDir, *job.ID, allocdir.NewRunID(time.Now()))
	if err != nil {
		return nil, err
	}
	if e.cfg.OnRun != nil {
		e.cfg.OnRun(dir.Dir)
	}
	recorder, err := e.newRecorder(job, dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	r := newJobRun(e, job, dir, port.Recall(dir.PortsFile()), recorder)
	if !job.IsPeriodic() && !job.IsParameterized() {
		err = r.reserve(job)
	}
	if err != nil {
		return nil, errors.Join(err, recorder.Remove(), r.close())
	}
	return r, nil
}

// checkSize refuses a job with more allocations than a job may have. Nothing
// may be done for each allocation of a job before.
func (e *Engine) checkSize(job *api.Job) error {
	if found := validate.Allocations(job, e.cfg.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return nil
}

// checkDrivers checks that the job's drivers are there, and follows them.
func (e *Engine) checkDrivers(job *api.Job) error {
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if e.cfg.Drivers[t.Driver] == nil {
				return fmt.Errorf("task %q of group %q: unknown driver %q", t.Name, *g.Name, t.Driver)
			}
			e.watch.begin(t.Driver)
		}
	}
	return nil
}
