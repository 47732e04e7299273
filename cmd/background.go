package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/host"
	"taskrun/cmd/preflight"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
)

// Names of the files that the keeper of a run holds for later engines.
const (
	heldRun   = "run"
	heldCause = "cause"
	heldLock  = "lock " // followed by the job's number
)

// runBackground is the engine of a run in the background. The first engine
// reads its jobs from the file at path; later ones get them from the keeper.
func runBackground(ctx context.Context, a *app, watch *keeper.Watch, path string, opts upOptions, dataDir string) (err error) {
	defer func() { tellStart(watch, err) }()
	resumed, err := watch.Resumed()
	if err != nil {
		return err
	}
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
	b := &detachedRun{}
	if err := b.input.decode(file); err != nil {
		return err
	}
	files, warnings := b.input.jobFiles()
	if opts.enforce {
		warnings = append(warnings, preflight.EnforceMemory(preflightFiles(files), a.drivers())...)
	}
	if in := b.input.Watch; in != nil {
		in.restore(&opts)
	}
	p, err := opts.policy(files)
	if err != nil {
		return err
	}
	r, stop := newRun(a, files, warnings, opts, p, surroundings{dataDir: dataDir, watch: watch, began: b.input.Began, detached: true, given: b.input.Given})
	defer stop()
	b.engineRun, r.decided = r, b.remember
	if in := b.input.Watch; in != nil {
		r.follow = func(ctx context.Context) { watchFiles(ctx, a, r, in.Names, nil, opts, in.Since) }
	}
	r.specs = func() (map[string][]byte, error) { return b.input.Specs, nil }
	if resumed {
		b.memory = watch.Held(heldCause)
		r.start = b.resume
	} else {
		r.start = func(jobs []*api.Job) error { return b.launch(jobs, file) }
	}
	code, err := r.run(ctx, b.input.Jobs)
	if err != nil {
		return submitError(err, dataDir)
	}
	return exit.Silent(code)
}

// detachedRun is a run in the background, as seen by one of its engines.
type detachedRun struct {
	*engineRun
	input      backgroundInput
	memory     *os.File      // holds the cause of the end; outlives the engine
	remembered verdict.Cause // the cause that memory holds
}

// launch submits the jobs, gives the keeper everything that a later engine
// needs, and reports whether the run has started.
func (b *detachedRun) launch(jobs []*api.Job, file *os.File) error {
	if err := b.submit(jobs); err != nil {
		return err
	}
	b.dirs = map[string]string{}
	for i, run := range b.engine.Runs() {
		b.dirs[run.JobID] = run.Dir
		log, err := os.Stat(b.input.Log)
		if err == nil && log.Mode().IsRegular() {
			err = os.Link(b.input.Log, filepath.Join(run.Dir, source.LogFile))
		}
		if err == nil {
			err = b.watch.Hold(heldLock+strconv.Itoa(i), run.Lock)
		}
		if err = errors.Join(err, run.Lock.Close()); err != nil {
			return fmt.Errorf("cannot run job %q in the background: %w", run.JobID, err)
		}
	}
	b.input.Dirs = b.dirs
	if err := b.hold(file); err != nil {
		return fmt.Errorf("cannot keep what is to be run: %w", err)
	}
	words, err := json.Marshal(reached{
		client.Self{Version: currentVersion().Version, PID: os.Getppid(), DataDir: b.dataDir, Runs: b.dirs}, b.socket,
	})
	if err == nil {
		err = b.watch.Stands(string(words), nil)
	}
	if err != nil {
		return err
	}
	_ = os.Remove(b.input.Log) // the run directory has a link to it
	b.servePlaced()
	return nil
}

// hold writes the input to its file and hands the files of the run to the keeper.
func (b *detachedRun) hold(file *os.File) error {
	text, err := json.Marshal(b.input)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	if b.memory, err = os.CreateTemp("", "taskrun-*"); err != nil {
		return err
	}
	return errors.Join(os.Remove(b.memory.Name()), b.watch.Hold(heldRun, file), b.watch.Hold(heldCause, b.memory))
}

// foundTime limits how long clients wait until the engine has found the tasks
// of an earlier engine.
const foundTime = time.Second

// resume continues the runs of an earlier engine. Of a run that has ended since
// then, it only replays the events.
func (b *detachedRun) resume(jobs []*api.Job) error {
	b.dirs = b.input.Dirs
	left, err := engine.Interrupted(b.dataDir)
	if err != nil {
		return err
	}
	b.recall()
	var runs []engine.Run
	for i, j := range jobs {
		dir := b.dirs[*j.ID]
		if !slices.Contains(left, dir) {
			b.replay(dir)
			continue
		}
		runs = append(runs, engine.Run{JobID: *j.ID, Dir: dir, Lock: b.watch.Held(heldLock + strconv.Itoa(i))})
	}
	b.display.Say(fmt.Sprintf("an engine has died: process %d continues the run", os.Getpid()))
	if b.failure = b.engine.Recover(runs...); b.failure != nil {
		b.display.Say(b.failure.Error())
	}
	time.AfterFunc(host.PlaceTime, b.serve)
	go func() {
		b.engine.Placed()
		time.AfterFunc(foundTime, b.serve)
		b.engine.Found()
		b.serve()
		switch n := process.Settle(); {
		case n == 1:
			b.display.Say("killed 1 process that no longer belonged to a task")
		case n > 1:
			b.display.Say(fmt.Sprintf("killed %d processes that no longer belonged to a task", n))
		}
	}()
	if err := b.watch.Stands("", nil); err != nil {
		return err
	}
	if b.verdict.Cause.Text != "" { // the earlier engine may have died before it stopped the run
		b.engine.Stop()
	}
	return nil
}

// remember saves why the run ends, for a later engine.
func (b *detachedRun) remember() {
	if b.memory == nil || b.verdict.Cause == b.remembered {
		return
	}
	b.remembered = b.verdict.Cause
	text, err := json.Marshal(b.remembered)
	if err == nil {
		_, err = b.memory.WriteAt(text, 0)
	}
	if err != nil {
		b.display.Say(fmt.Sprintf("cannot keep why the run ends: %v", err))
	}
}

// recall reads the cause that an earlier engine has saved.
func (b *detachedRun) recall() {
	if b.memory == nil {
		return
	}
	err := json.NewDecoder(io.NewSectionReader(b.memory, 0, 1<<20)).Decode(&b.verdict.Cause)
	if err != nil && !errors.Is(err, io.EOF) {
		b.display.Say(fmt.Sprintf("cannot read why the run ends: %v", err))
	}
	b.remembered = b.verdict.Cause
}

// replay feeds the events of a run that has ended to the verdict.
func (b *detachedRun) replay(dir string) {
	events, err := source.History(dir)
	if err != nil {
		b.display.Say(err.Error())
	}
	for _, e := range events {
		b.verdict.Observe(e)
	}
}
