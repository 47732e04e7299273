package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/allocdir"
	"taskrun/engine/event"
	"taskrun/engine/health"
	"taskrun/engine/port"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// jobRun is one run of a job: for each group and index a slot, in which one
// allocation after another runs.
type jobRun struct {
	engine   *Engine
	job      *api.Job
	dir      *allocdir.Run
	memory   *port.Memory
	verdicts chan verdict
	over     chan struct{} // closed when the last allocation has ended

	static   []int // ports that are claimed until the job has ended
	reserved bool  // these are all static ones

	children sync.WaitGroup // jobs that run in the name of this one
	mu       sync.Mutex
	live     int  // children
	ended    bool // no more children
}

func newJobRun(e *Engine, job *api.Job, dir *allocdir.Run, memory *port.Memory) *jobRun {
	return &jobRun{engine: e, job: job, dir: dir, memory: memory, verdicts: make(chan verdict), over: make(chan struct{})}
}

// close gives back what the run has, however far it came.
func (r *jobRun) close() error {
	r.releasePorts(r.static)
	return errors.Join(r.memory.Close(), r.dir.Close())
}

// run returns when the job has ended and its directory is closed.
func (r *jobRun) run() {
	history := store.NewHistory(&r.engine.bus, r.dir.Dir, *r.job.ID)
	switch {
	case r.job.IsPeriodic():
		r.runPeriodic()
	case r.job.IsParameterized():
		r.notice("job %q waits to be dispatched", *r.job.ID)
		<-r.engine.stopping.Done()
	default:
		r.runGroups()
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.children.Wait()
	if err := history.Close(); err != nil {
		r.notice("job %q: %v", *r.job.ID, err)
	}
	if err := r.dir.Prune(keptRuns); err != nil {
		r.notice("cannot remove old runs of job %q: %v", *r.job.ID, err)
	}
	if err := r.close(); err != nil {
		r.notice("cannot close the run of job %q: %v", *r.job.ID, err)
	}
}

// runGroups runs the allocations of every group and returns when they have
// ended.
func (r *jobRun) runGroups() {
	var slots, deployment sync.WaitGroup
	for _, g := range r.job.TaskGroups {
		for i := range r.count(g) {
			slots.Go(func() { r.runSlot(g, i) })
		}
	}
	deployment.Go(r.deploy)
	slots.Wait()
	close(r.over)
	deployment.Wait()
}

func (r *jobRun) notice(format string, args ...any) {
	r.engine.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf(format, args...)})
}

// count is how many allocations the group has. A system job has one a node,
// and this machine is the only node.
func (r *jobRun) count(g *api.TaskGroup) int {
	switch *r.job.Type {
	case api.JobTypeSystem, api.JobTypeSysbatch:
		return min(*g.Count, 1)
	default:
		return *g.Count
	}
}

// runSlot runs an allocation, and another in its place for as long as the
// group's reschedule policy wants it.
func (r *jobRun) runSlot(g *api.TaskGroup, index int) {
	e := r.engine
	policy := restart.ReschedulePolicyOf(g.ReschedulePolicy)
	var earlier []restart.Replacement
	var previous string
	var kept []*runner.Alloc // that have ended
	for e.stopping.Err() == nil {
		cfg := r.allocConfig(g, index, previous)
		cfg.Retry = func(failed time.Time) time.Duration {
			delay, ok := policy.Next(failed, earlier)
			if !ok || e.stopping.Err() != nil {
				return -1
			}
			return delay
		}
		cfg.OnVerdict = func(v health.Verdict) {
			r.report(verdict{*g.Name, v, cfg.Retry(time.Now()) >= 0})
		}
		alloc, result := r.runAlloc(cfg)
		if result.Status != api.AllocClientStatusFailed {
			return
		}
		delay, ok := policy.Next(result.Failed, earlier)
		if !ok || !r.sleepUntil(result.Failed.Add(delay)) {
			return
		}
		earlier = policy.Keep(earlier, restart.Replacement{Time: time.Now(), Delay: delay})
		previous = cfg.Alloc.ID
		if kept = append(kept, alloc); len(kept) > keptAllocs {
			if err := kept[0].Destroy(e.hard); err != nil {
				r.notice("cannot remove allocation %s: %v", kept[0].Config().Alloc.ID, err)
			}
			e.forget(kept[0])
			kept = kept[1:]
		}
	}
}

func (r *jobRun) allocConfig(g *api.TaskGroup, index int, previous string) runner.Config {
	e := r.engine
	id, parent := event.NewID(), ""
	if r.job.ParentID != nil {
		parent = *r.job.ParentID
	}
	cfg := runner.Config{
		Alloc: &event.Alloc{
			Job:    *r.job.ID,
			Group:  *g.Name,
			Name:   r.allocName(g, index),
			ID:     id,
			Parent: parent,
		},
		Index:          index,
		Job:            r.job,
		Group:          g,
		Dir:            r.dir.AllocDir(id),
		Replaces:       previous,
		Drivers:        e.cfg.Drivers,
		Hooks:          e.cfg.Hooks,
		Node:           e.cfg.Node,
		HostEnv:        e.cfg.HostEnv,
		MaxKillTimeout: e.cfg.MaxKillTimeout,
		Bus:            &e.bus,
	}
	if disk := g.EphemeralDisk; *disk.Sticky || *disk.Migrate {
		cfg.Sticky = r.dir.StickyLink(*r.job.ID, *g.Name, index)
	}
	return cfg
}

func (r *jobRun) allocName(g *api.TaskGroup, index int) string {
	return fmt.Sprintf("%s.%s[%d]", *r.job.ID, *g.Name, index)
}

func (r *jobRun) runAlloc(cfg runner.Config) (*runner.Alloc, runner.Result) {
	e := r.engine
	release, err := r.givePorts(&cfg)
	if err != nil {
		e.bus.Publish(cfg.Alloc, "", event.AllocStatus{
			Status: api.AllocClientStatusFailed, Description: err.Error(), Replaces: cfg.Replaces, Retry: cfg.Retry(time.Now()),
		})
		return runner.New(cfg), runner.Result{Status: api.AllocClientStatusFailed, Failed: time.Now()}
	}
	defer release()
	alloc := runner.New(cfg)
	e.track(alloc)
	defer context.AfterFunc(e.stopping, alloc.Stop)()
	return alloc, alloc.Run(e.hard)
}

// sleepUntil waits; false: the job is to end.
func (r *jobRun) sleepUntil(t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.engine.stopping.Done():
		return false
	}
}
