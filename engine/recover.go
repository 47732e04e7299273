package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

// Run is a run of a job. It can outlive its engine if the engine is Durable.
type Run struct {
	JobID string
	Dir   string
	// Lock is a descriptor of the lock on the job's name, or nil. A process
	// that inherits it keeps the name locked while there is no engine, and
	// passes it to the next one.
	Lock *os.File
}

// Runs returns the runs of this engine that have not ended. The caller must
// close the locks.
func (e *Engine) Runs() []Run {
	var runs []Run
	for _, r := range e.runs.all() {
		if lock, err := r.dir.ShareLock(); err == nil { // otherwise the run has ended
			runs = append(runs, Run{JobID: *r.job.ID, Dir: r.dir.Dir, Lock: lock})
		}
	}
	return runs
}

// Interrupted returns the directories of the runs in a data directory that have
// not ended. Their engines may still be alive.
func Interrupted(dataDir string) (dirs []string, err error) {
	jobs, err := datadir.Jobs(dataDir)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		runs, err := datadir.Runs(dataDir, job)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if dir := datadir.RunDir(dataDir, job, run); store.HasState(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, nil
}

// Recover continues the runs of an engine that died or was told to Leave, with
// their jobs, allocations and tasks. It reads Dir and Lock of each run, and owns
// the locks from then on.
//
// Subscribers first receive the stored past, with its original numbers (the latest
// event of each kind for each allocation and task), and then new events. Call it
// once, instead of Submit. The error names the runs that cannot be recovered; the
// engine runs the others. A resident engine finds its runs in the data directory.
// It publishes notices about lost data, and an error means that it has not begun.
func (e *Engine) Recover(runs ...Run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.submitted || e.closed {
		return errors.New("cannot recover a run: the engine was used before")
	}
	if e.unread != nil {
		return e.unread
	}
	e.cfg.Durable = true
	if e.cfg.Resident {
		var err error
		if runs, err = e.residents(); err != nil {
			return err
		}
	}
	var recovered []*jobRun
	var past []event.Event
	var last uint64
	var failures error
	for _, run := range runs {
		r, events, seq, err := reopen(e, run)
		if err != nil {
			if lost := e.lose(run, err); !e.cfg.Resident {
				failures = errors.Join(failures, lost)
			}
			continue
		}
		if r.purged.Load() { // its versions are gone, and another job may have its key
			events = slices.DeleteFunc(events, func(e event.Event) bool { return e.Alloc == nil })
		}
		recovered, past, last = append(recovered, r), append(past, events...), max(last, seq)
	}
	slices.SortFunc(past, func(a, b event.Event) int { return int(a.Seq) - int(b.Seq) })
	e.bus.Restore(past, last)
	e.begin(recovered)
	return failures
}

// lose returns the error about a run that cannot be recovered. A resident engine
// also publishes it, and forgets the run if nothing is left to recover.
func (h *host) lose(run Run, err error) error {
	if !h.cfg.Resident {
		return fmt.Errorf("cannot recover the run in %q: %w", run.Dir, err)
	}
	err = fmt.Errorf("job %q is lost, with its versions and allocations: %w", datadir.JobOf(run.Dir), err)
	if !store.HasState(run.Dir) {
		err = errors.Join(err, datadir.Disown(run.Dir))
	}
	h.notice("%v", err)
	return err
}

// Found waits until drivers have found the tasks of recovered runs, or have
// failed to. After that, anything else that an earlier engine started has no
// owner.
func (e *Engine) Found() { e.runs.finding.Wait() }

// RunDirs returns the directories of all runs of this engine, by the key of the
// job.
func (e *Engine) RunDirs() map[string]string {
	dirs := map[string]string{}
	for _, r := range e.runs.all() {
		dirs[r.key] = r.dir.Dir
	}
	return dirs
}

// reopen restores a run except its allocations.
func reopen(e *Engine, run Run) (r *jobRun, past []event.Event, last uint64, err error) {
	var dir *datadir.Run
	if e.cfg.Resident {
		dir, err = datadir.ReopenResident(run.Dir, e.cfg.StateDir)
	} else {
		dir, err = datadir.ReopenRun(run.Dir, run.Lock)
	}
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

func restoreRun(e *Engine, dir *datadir.Run, recorder *store.Recorder) (*jobRun, error) {
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
		if e.keyOf(job) == what.Job {
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
	r := newJobRun(e.host, &e.runs, parent, dir, port.Recall(dir.PortsFile()), recorder)
	r.children.orphans = children
	r.hostEnv = nil
	for _, v := range what.HostEnv {
		r.hostEnv = append(r.hostEnv, string(v))
	}
	purged := false
	if _, err := recorder.Get(store.KeyOf(purgedKey, r.key), &purged); err != nil {
		return nil, err
	}
	r.purged.Store(purged)
	if e.cfg.Resident {
		return r, nil // the order was for an engine that ends with its jobs
	}
	if !launches(parent) {
		r.ports.AdoptStatic(parent)
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

// residents returns the runs that an earlier resident engine has left. It removes
// those whose registration was interrupted.
func (h *host) residents() (runs []Run, err error) {
	dirs, err := datadir.ResidentRuns(h.cfg.DataDir, h.cfg.StateDir)
	if err != nil {
		h.notice("%v", err)
	}
	for _, dir := range dirs {
		if store.HasState(dir) || store.HasHistory(dir) {
			runs = append(runs, Run{Dir: dir})
			continue
		}
		r, err := datadir.ReopenResident(dir, h.cfg.StateDir)
		if err == nil {
			err = r.Remove()
		}
		if err != nil && !errors.Is(err, datadir.ErrInUse) {
			h.notice("%v", err)
		}
	}
	return runs, nil
}
