package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/source"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// The files that the keeper of a run holds for the engines to come.
const (
	heldRun   = "run"
	heldCause = "cause"
	heldLock  = "lock " // and the job's number
)

// detachedRun is what all engines of a run in the background go by: job files
// and stdin may have changed when a later one begins.
type detachedRun struct {
	Jobs  []*api.Job
	Made  map[string]*api.JobSubmission // what of, by job
	Local string                        // stubs file, empty for none
	Log   string                        // where it is before the run has a directory
	Began time.Time
	Dirs  map[string]string // of the runs, by job
}

// reached is how a run in the background is reached. It says so when it stands:
// a run that ends at once could not be asked.
type reached struct {
	client.Self
	Socket string
}

// write puts it into a file for this user alone.
func (d *detachedRun) write() (path string, err error) {
	f, err := os.CreateTemp("", "taskrun-*.json")
	if err != nil {
		return "", fmt.Errorf("cannot hand the jobs over: %w", err)
	}
	err = errors.Join(json.NewEncoder(f).Encode(d), f.Close())
	if err != nil {
		return "", errors.Join(fmt.Errorf("cannot hand the jobs over: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// read reads it from the beginning of a file.
func (d *detachedRun) read(f *os.File) error {
	dec := json.NewDecoder(io.NewSectionReader(f, 0, 1<<40))
	dec.UseNumber() // numbers in the config of tasks stay what they are
	if err := dec.Decode(d); err != nil {
		return fmt.Errorf("cannot read what is to be run: %w", err)
	}
	return nil
}

// runDetached is the engine of a run in the background, whose first engine finds
// its jobs in a file.
func runDetached(ctx context.Context, a *app, watch *keeper.Watch, path string, opts upOptions, dataDir string) error {
	err := runUnderKeeper(ctx, a, watch, path, opts, dataDir)
	var exit *exitError
	if err != nil && !(errors.As(err, &exit) && exit.err == nil) {
		told := &toldError{Code: exitCode(err), Text: err.Error()}
		if exit != nil {
			told.Hint = exit.hint
		}
		_ = watch.Stands("", told) // the command that started the run; the error is in the log as well
	}
	return err
}

func runUnderKeeper(ctx context.Context, a *app, watch *keeper.Watch, path string, opts upOptions, dataDir string) error {
	a.jsonErrors = false
	resumed, err := watch.Resumed()
	if err != nil {
		return err
	}
	var d detachedRun
	file := watch.Held(heldRun)
	if !resumed {
		file, err = os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = os.Remove(path)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot find what is to be run: %w", err)
	case file == nil:
		return errors.New("cannot find what is to be run: the keeper of the run does not have it")
	}
	if err := d.read(file); err != nil {
		return err
	}
	if d.Began.IsZero() {
		d.Began = time.Now()
	}
	files, warnings := d.files()
	if opts.enforce {
		warnings = append(warnings, preflight.EnforceMemory(preflightFiles(files), a.drivers())...)
	}
	p, err := opts.policy(files)
	if err != nil {
		return err
	}
	r, stop := newRun(a, files, warnings, opts, p, background{dataDir: dataDir, watch: watch, began: d.Began, detached: true})
	defer stop()
	if resumed {
		r.now = false
		r.memory = watch.Held(heldCause)
		r.resume = func() error { return r.recover(&d) }
	} else {
		r.stands = func(err error) error { return r.stand(&d, file, err) }
	}
	code, err := r.run(ctx, d.Jobs)
	if err != nil {
		return submitError(err)
	}
	return silent(code)
}

// files are the jobs as if they had just been read. Without the stubs file,
// which nobody checks any more, the run goes on as it can.
func (d *detachedRun) files() (files []jobfile.File, warnings jobspec.Diagnostics) {
	stubs := stub.None()
	if d.Local != "" {
		read, diagnostics := stub.Read(d.Local)
		if read != nil {
			stubs = read
		}
		warnings = diagnostics
	}
	for _, j := range d.Jobs {
		files = append(files, jobfile.File{File: &jobspec.File{Job: j}, Name: *j.ID, Stubs: stubs, Source: d.Made[*j.ID]})
	}
	return files, warnings
}

// stand hands over to the keeper what a later engine needs, and says that the
// run stands, or why it does not.
func (r *run) stand(d *detachedRun, file *os.File, failure error) error {
	if failure != nil {
		return failure
	}
	d.Dirs = map[string]string{}
	for i, run := range r.engine.Runs() {
		d.Dirs[run.JobID] = run.Dir
		place, err := os.Stat(d.Log)
		target := filepath.Join(run.Dir, source.LogFile)
		if err == nil && place.Mode().IsRegular() {
			err = os.Link(d.Log, target)
		}
		if err == nil {
			err = r.watch.Hold(heldLock+strconv.Itoa(i), run.Lock)
		}
		if err = errors.Join(err, run.Lock.Close()); err != nil {
			return fmt.Errorf("cannot run job %q in the background: %w", run.JobID, err)
		}
	}
	r.dirs = d.Dirs
	text, err := json.Marshal(d)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(text, 0)
	}
	if err == nil {
		r.memory, err = unnamedFile()
	}
	if err == nil {
		err = errors.Join(r.watch.Hold(heldRun, file), r.watch.Hold(heldCause, r.memory))
	}
	if err != nil {
		return fmt.Errorf("cannot keep what is to be run: %w", err)
	}
	r.reached.Runs = d.Dirs
	words, err := json.Marshal(r.reached)
	if err != nil {
		return err
	}
	if err := r.watch.Stands(string(words), nil); err != nil {
		return err
	}
	_ = os.Remove(d.Log) // it has a place by now
	return nil
}

func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "taskrun-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// foundTime is how long clients are kept waiting at most until the tasks are
// found that an earlier engine has left.
const foundTime = time.Second

// recover goes on with the runs that an earlier engine has left. Of those that
// had ended meanwhile only what happened in them counts.
func (r *run) recover(d *detachedRun) error {
	r.dirs = d.Dirs
	left, err := engine.Interrupted(r.dataDir)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, dir := range left {
		open[dir] = true
	}
	r.recall()
	var runs []engine.Run
	for i, j := range d.Jobs {
		dir := d.Dirs[*j.ID]
		if !open[dir] {
			r.replay(dir)
			continue
		}
		runs = append(runs, engine.Run{JobID: *j.ID, Dir: dir, Lock: r.watch.Held(heldLock + strconv.Itoa(i))})
	}
	r.display.Say(fmt.Sprintf("an engine has died: process %d goes on with the run", os.Getpid()))
	if r.failure = r.engine.Recover(runs...); r.failure != nil {
		r.display.Say(r.failure.Error())
	}
	time.AfterFunc(foundTime, r.serve)
	go func() {
		r.engine.Found()
		r.serve()
		if n := process.Settle(); n > 0 {
			r.display.Say(fmt.Sprintf("killed %d processes that belong to no task any more", n))
		}
	}()
	if err := r.watch.Stands("", nil); err != nil {
		return err
	}
	if r.verdict.Cause.Text != "" { // it may not have come to that
		r.engine.Stop()
	}
	return nil
}

// remember keeps why the run is to end: a later engine has to know.
func (r *run) remember() {
	if r.memory == nil || r.verdict.Cause == r.remembered {
		return
	}
	r.remembered = r.verdict.Cause
	text, err := json.Marshal(r.remembered)
	if err == nil {
		_, err = r.memory.WriteAt(text, 0)
	}
	if err != nil {
		r.display.Say(fmt.Sprintf("cannot keep why the run ends: %v", err))
	}
}

// recall is the opposite.
func (r *run) recall() {
	if r.memory == nil {
		return
	}
	err := json.NewDecoder(io.NewSectionReader(r.memory, 0, 1<<20)).Decode(&r.verdict.Cause)
	if err != nil && !errors.Is(err, io.EOF) {
		r.display.Say(fmt.Sprintf("cannot read why the run ends: %v", err))
	}
	r.remembered = r.verdict.Cause
}

// replay lets the verdict see what happened in a run that has ended.
func (r *run) replay(dir string) {
	events, err := source.History(dir)
	if err != nil {
		r.display.Say(err.Error())
	}
	for _, e := range events {
		r.verdict.Observe(e)
	}
}
