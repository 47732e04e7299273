package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

// newRecorder returns the recorder that publishes the events of a new run and,
// if the engine is Durable, stores them.
func newRecorder(e *Engine, job *api.Job, source *api.JobSubmission, dir *datadir.Run) (*store.Recorder, error) {
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

// Submit starts all jobs, or none. They must be canonicalized and valid; the
// engine owns them from then on, and the caller must not change them. Call it
// only once. It fails for an unknown driver, too many allocations (a
// jobspec.Diagnostic), a job that is already running (datadir.ErrInUse), a
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
	id := datadir.NewRunID(time.Now(), e.cfg.Chance.Reader("run", key))
	var dir *datadir.Run
	var err error
	if e.cfg.Resident {
		dir, err = datadir.OpenResident(e.cfg.DataDir, key, id, e.cfg.StateDir)
	} else {
		dir, err = datadir.OpenRun(e.cfg.DataDir, key, id)
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
func discard(e *Engine, dir *datadir.Run) error {
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
