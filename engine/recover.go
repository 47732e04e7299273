package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

// Run is a run of a job that outlives its engine, if that is Durable.
type Run struct {
	JobID string
	Dir   string
	// Lock is a descriptor of the lock of the job's name. A process that inherits
	// it keeps the name locked while there is no engine, and hands it to the next
	// one. It may be nil.
	Lock *os.File
}

// Runs returns the runs of this engine that have not ended. The locks are for
// the caller, who must close them.
func (e *Engine) Runs() []Run {
	var runs []Run
	for _, r := range e.runs.all() {
		if lock, err := r.dir.ShareLock(); err == nil { // else it has ended
			runs = append(runs, Run{JobID: *r.job.ID, Dir: r.dir.Dir, Lock: lock})
		}
	}
	return runs
}

// Interrupted returns the directories of the runs in a data directory that can
// be taken up, or whose engine lives.
func Interrupted(dataDir string) (dirs []string, err error) {
	jobs, err := allocdir.Jobs(dataDir)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		runs, err := allocdir.Runs(dataDir, job)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if dir := allocdir.RunDir(dataDir, job, run); store.HasState(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, nil
}

// Recover takes up runs where an engine has left them that has died, or was
// told to Leave: its jobs, allocations and tasks go on as they were. Of a run
// Dir and Lock count; the Lock is the engine's from now on.
//
// Who has subscribed gets what is remembered of the past, with the numbers
// that it had, and then what happens: of the events the latest of each kind,
// of each allocation and task.
//
// It may be called once, instead of Submit. The error tells which runs cannot
// be recovered, and why. The others are: the engine runs them, or nothing.
func (e *Engine) Recover(runs ...Run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.submitted || e.closed {
		return errors.New("cannot recover a run: the engine was used before")
	}
	e.cfg.Durable = true
	var recovered []*jobRun
	var past []event.Event
	var last uint64
	var failures error
	for _, run := range runs {
		r, events, seq, err := reopen(e, run)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("cannot recover the run in %q: %w", run.Dir, err))
			continue
		}
		recovered, past, last = append(recovered, r), append(past, events...), max(last, seq)
	}
	slices.SortFunc(past, func(a, b event.Event) int { return int(a.Seq) - int(b.Seq) })
	e.bus.Restore(past, last)
	e.begin(recovered)
	return failures
}

// Found returns when drivers have found the tasks of recovered runs again, as
// far as they will: all else that an earlier engine has started has no owner.
func (e *Engine) Found() { e.runs.finding.Wait() }

// RunDirs returns the directories of all runs of this engine, by job.
func (e *Engine) RunDirs() map[string]string {
	dirs := map[string]string{}
	for _, r := range e.runs.all() {
		dirs[*r.job.ID] = r.dir.Dir
	}
	return dirs
}

// reopen restores a run, but for its allocations.
func reopen(e *Engine, run Run) (r *jobRun, past []event.Event, last uint64, err error) {
	dir, err := allocdir.ReopenRun(run.Dir, run.Lock)
	if err != nil {
		return nil, nil, 0, err
	}
	if e.cfg.OnRun != nil {
		e.cfg.OnRun(dir.Dir)
	}
	recorder, err := store.Open(&e.bus, dir.Dir)
	if err != nil {
		return nil, nil, 0, errors.Join(err, dir.Close())
	}
	if e.onRecorder != nil {
		e.onRecorder(recorder)
	}
	if past, last, err = recorder.Past(); err == nil {
		r, err = restoreRun(e, dir, recorder)
	}
	if err != nil {
		return nil, nil, 0, errors.Join(err, recorder.Close(), dir.Close())
	}
	return r, past, last, nil
}

func restoreRun(e *Engine, dir *allocdir.Run, recorder *store.Recorder) (*jobRun, error) {
	var what runRecord
	if _, err := recorder.Get(store.KeyOf(runKey), &what); err != nil {
		return nil, err
	}
	var parent *api.Job
	var children []*api.Job
	for _, key := range recorder.Keys(store.KeyOf(jobKey)) {
		job := &api.Job{}
		if _, err := recorder.Get(key, job); err != nil {
			return nil, err
		}
		if err := e.watch.follow(job); err != nil {
			return nil, err
		}
		if *job.ID == what.Job {
			parent = job
		} else {
			children = append(children, job)
		}
	}
	if parent == nil {
		return nil, fmt.Errorf("its state lacks job %q", what.Job)
	}
	var order string
	if _, err := recorder.Get(store.KeyOf(orderKey), &order); err != nil {
		return nil, err
	}
	r := newJobRun(e, parent, dir, port.Recall(dir.PortsFile()), recorder)
	r.children.orphans = children
	r.hostEnv = nil
	for _, v := range what.HostEnv {
		r.hostEnv = append(r.hostEnv, string(v))
	}
	if !launches(parent) {
		r.ports.adoptStatic(parent)
	}
	switch order {
	case orderKill:
		e.kill()
		e.stop()
	case orderStop:
		e.stop()
	}
	return r, nil
}
