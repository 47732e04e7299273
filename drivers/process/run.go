package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errShutdown is the error of a start after Shutdown.
var errShutdown = errors.New("cannot start a process: the run has ended")

// Run is all processes of one run. What belongs to it, or to one of its
// processes, is found by evidence that is inherited:
//
//   - parentage: on Linux this program adopts every orphan among its
//     descendants (PR_SET_CHILD_SUBREAPER), so that none gets out of its tree
//     while it lives;
//   - the session, which each process of the run starts anew;
//   - NOMAD_ALLOC_ID and NOMAD_TASK_NAME in the environment, both together;
//   - a mark that no process without CAP_SYS_RESOURCE can take off (Linux; see
//     mark).
//
// Shutdown must be called in the end.
type Run struct {
	starting sync.WaitGroup // starts under way
	helpers  bool           // see NewHelpers

	// Guarded by the reaper's lock.
	open, ended bool
	tags        map[string]bool // of everything that was started
}

// NewRun returns a run without processes.
func NewRun() *Run { return &Run{tags: map[string]bool{}} }

// Start starts a process.
func (r *Run) Start(spec Spec) (*Process, error) {
	p := r.newProcess(spec.Env, spec.OnExit)
	p.kept = spec.Kept
	if err := reaper.begin(p); err != nil {
		return nil, err
	}
	defer r.starting.Done()
	p.entry = reaper.intend(p)
	pid, err := spec.start()
	p.shadow = ownPeakRSS()
	if err == nil {
		p.id = identify(pid)
		p.entry.Started(p.id)
	} else {
		p.entry.Remove()
	}
	reaper.register(p, err)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (r *Run) newProcess(env []string, onExit func(Status, time.Time)) *Process {
	return &Process{
		run:    r,
		tag:    tagOf(env),
		entry:  noEntry{},
		onExit: []func(Status, time.Time){onExit},
		done:   make(chan struct{}),
		gone:   make(chan struct{}),
	}
}

// rescan is how long Shutdown waits for news of what it killed before it looks
// again.
const rescan = 50 * time.Millisecond

// Shutdown ends the run: it kills what still belongs to it and looks for more
// until it finds none or ctx ends, and returns how many processes it killed.
// It never touches this program's own session, nor any of its ancestors. When
// this program has other runs, what bears only signs that all of them share is
// left to the last.
func (r *Run) Shutdown(ctx context.Context) (int, error) {
	if !reaper.end(r) {
		return 0, nil
	}
	defer reaper.release(r)
	r.starting.Wait()
	if r.helpers {
		return r.dismiss(ctx)
	}
	hunt := hunt{run: r, killed: map[ID]bool{}, failed: map[ID]error{}}
	for {
		news, before := reaper.news()
		if reaper.onlyHelpers() {
			return len(hunt.killed), hunt.err()
		}
		found := hunt.scan()
		if _, after := reaper.news(); found == 0 && after == before {
			return len(hunt.killed), hunt.err() // nor did one die meanwhile that may have left another
		}
		timer := time.NewTimer(rescan)
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			return len(hunt.killed), errors.Join(hunt.err(), fmt.Errorf("cannot end every process of the run, %d are left: %w", found, context.Cause(ctx)))
		}
		timer.Stop()
	}
}
