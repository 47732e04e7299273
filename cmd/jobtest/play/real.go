package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/jobtest"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/runtimedir"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec"
)

const (
	// graceTime is how long the tasks of a real run may take to end once the run has
	// reached its goal.
	graceTime = time.Minute
	// execTime is how long a command in a task may take, unless the test says so.
	execTime = 30 * time.Second
)

// playReal carries out a run with the drivers of this machine, under a keeper: nothing
// that was started stays when this program is killed.
func (p *Player) playReal(ctx context.Context, job *Prepared, seed uint64, dir string) (*jobtest.Outcome, error) {
	w, said := newWitness(), &notices{}
	services, variables := &service.Catalog{}, &variable.Store{}
	r := &round{job: job, witness: w, settle: func() {}, limit: job.limit(RealTime), maxEvents: p.MaxEvents}
	stubs := hookstubs.New(job.stubs, variables, func(d jobspec.Diagnostics) { said.add(d.Error()) })
	defer stubs.Close()
	catalog := hooks.New(hooks.Options{
		DataDir: dir, HostVolume: job.stubs.HostVolume, Stubs: stubs, Services: services, Keys: workload.NewKeyring(),
	})
	catalog.Task = append(catalog.Task, w.Task)
	watch, known := keeper.New(), p.Drivers()
	for name, d := range known {
		if d, ok := d.(drivers.HostPathUser); ok { // as without --host-paths
			d.SetHostPaths(func(path string) (string, error) { return datadir.MakeHostPath(dir, path) })
		}
		if d, ok := d.(drivers.Lasting); ok {
			d.OnUse(func(ref string) { watch.Lasting(name, ref) })
		}
	}
	node := *job.node
	node.DataDir = dir
	r.engine = engine.New(engine.Config{
		DataDir: dir, Drivers: known, Hooks: catalog, Node: &node, HostEnv: p.Environ,
		Services: services, Variables: variables, PortDir: p.PortDir, OnRun: watch.Run,
	})
	records := p.Records
	if records != "" {
		if err := runtimedir.Make(records); err != nil {
			said.add(fmt.Sprintf("nothing will clean up if taskrun is killed together with its keeper: %v", err))
			records = "" // the keeper has its record without a name
		}
	}
	watch.Begin(records, said.add)
	began := time.Now()
	o, err := r.play(ctx, seed, graceTime, r.exec)
	err = errors.Join(err, watch.Close(!r.left))
	if o != nil {
		o.Real, o.Notices = time.Since(began), append(o.Notices, said.all()...)
	}
	return o, err
}

// exec runs the commands of the test in tasks that run.
func (r *round) exec(ctx context.Context, o *jobtest.Outcome) error {
	for _, x := range r.job.Run.Execs {
		if r.verdict.Cause.Own || r.unfinished != "" {
			return refused(x.Block.Header, "the command was not run", errors.New(r.verdict.Cause.Text)) //nolint:err113 // why the run has ended
		}
		ended, err := r.execOne(ctx, x)
		if err != nil {
			return refused(x.Block.Header, fmt.Sprintf("cannot run the command in %q", x.Target), err)
		}
		o.Execs[x.Target] = ended
	}
	return nil
}

func (r *round) execOne(ctx context.Context, x *jobtest.Exec) (*jobtest.ExecOutcome, error) {
	a, task, err := r.one(x.Target)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(x.Timeout, execTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the command has not ended within %v", limit))
	defer cancel()
	env, err := r.witness.env(ctx, jobtest.TaskKey{Alloc: a.ID, Task: task})
	if err != nil {
		return nil, err
	}
	var stdout, stderr tail
	result, err := a.Exec(ctx, task, &drivers.ExecOptions{
		Command: env.ReplaceAll(x.Command), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	})
	if err != nil {
		return nil, err
	}
	return &jobtest.ExecOutcome{ExitCode: result.ExitCode, Stdout: stdout.text(), Stderr: stderr.text()}, nil
}

// notices are words to the user, from any goroutine.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, text)
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list
}
