package enginerun

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

// Background is a run in the background, as seen by one of its engines.
type Background struct {
	*Run
	input      Input
	file       *os.File // that holds the input
	resumed    bool     // there was an engine before
	dataDir    string
	version    string
	memory     *os.File      // holds the cause of the end; outlives the engine
	remembered verdict.Cause // the cause that memory holds
}

// TakeOver returns the run of a keeper. The first engine reads its jobs from the file
// at path; later ones get them from the keeper.
func TakeOver(watch *keeper.Watch, path string) (*Background, error) {
	resumed, err := watch.Resumed()
	if err != nil {
		return nil, err
	}
	b := &Background{file: watch.Held(heldRun), resumed: resumed}
	if !resumed {
		b.file, err = os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = os.Remove(path)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot find the jobs to run: %w", err)
	case b.file == nil:
		return nil, errors.New("cannot find the jobs to run: the keeper of the run does not have them")
	}
	return b, b.input.decode(b.file)
}

// Input returns the input of the run.
func (b *Background) Input() *Input { return &b.input }

// Go runs the jobs until they have ended and returns the exit code as an error.
func (b *Background) Go(ctx context.Context, o Options) error {
	b.dataDir, b.version = o.DataDir, o.Version
	o.Began, o.background, o.given = b.input.Began, true, b.input.Given
	r, stop := New(o)
	defer stop()
	b.Run, r.decided = r, b.remember
	r.specs = func() (map[string][]byte, error) { return b.input.Specs, nil }
	r.start = b.launch
	if b.resumed {
		b.memory = r.watch.Held(heldCause)
		r.start = b.resume
	}
	code, err := r.Run(ctx, b.input.Jobs)
	if err != nil {
		return Refused(err, b.dataDir)
	}
	return exit.Silent(code)
}

// launch submits the jobs, gives the keeper everything that a later engine
// needs, and reports whether the run has started.
func (b *Background) launch(jobs []*api.Job) error {
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
	if err := b.hold(); err != nil {
		return fmt.Errorf("cannot store the jobs to run: %w", err)
	}
	words, err := json.Marshal(reached{
		client.Self{Version: b.version, PID: os.Getppid(), DataDir: b.dataDir, Runs: b.dirs}, b.socket,
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

// hold writes the input to the file and hands the files of the run to the keeper.
func (b *Background) hold() error {
	text, err := json.Marshal(b.input)
	if err != nil {
		return err
	}
	if err := b.file.Truncate(0); err != nil {
		return err
	}
	if _, err := b.file.WriteAt(text, 0); err != nil {
		return err
	}
	if b.memory, err = os.CreateTemp("", "taskrun-*"); err != nil {
		return err
	}
	return errors.Join(os.Remove(b.memory.Name()), b.watch.Hold(heldRun, b.file), b.watch.Hold(heldCause, b.memory))
}

// foundTime limits how long clients wait until the engine has found the tasks
// of an earlier engine.
const foundTime = time.Second

// resume continues the runs of an earlier engine. Of a run that has ended since
// then, it only replays the events.
func (b *Background) resume(jobs []*api.Job) error {
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
	settled := make(chan struct{})
	go func() {
		defer close(settled)
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
	if b.failure != nil { // a run that is not recovered ends at once: say first what it left behind
		select {
		case <-settled:
		case <-time.After(foundTime):
		}
	}
	if err := b.watch.Stands("", nil); err != nil {
		return err
	}
	if b.verdict.Cause.Text != "" { // the earlier engine may have died before it stopped the run
		b.engine.Stop()
	}
	return nil
}

// remember saves why the run ends, for a later engine.
func (b *Background) remember() {
	if b.memory == nil || b.verdict.Cause == b.remembered {
		return
	}
	b.remembered = b.verdict.Cause
	text, err := json.Marshal(b.remembered)
	if err == nil {
		_, err = b.memory.WriteAt(text, 0)
	}
	if err != nil {
		b.display.Say(fmt.Sprintf("cannot store why the run ends: %v", err))
	}
}

// recall reads the cause that an earlier engine has saved.
func (b *Background) recall() {
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
func (b *Background) replay(dir string) {
	events, err := source.History(dir)
	if err != nil {
		b.display.Say(err.Error())
	}
	for _, e := range events {
		b.verdict.Observe(e)
	}
}
