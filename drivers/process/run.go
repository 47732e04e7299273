package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Start starts a process.
func (r *Run) Start(spec Spec) (*Process, error) {
	p := r.newProcess(spec.Env, spec.OnExit)
	p.kept = spec.Kept
	if err := reaper.begin(p); err != nil {
		return nil, err
	}
	defer r.starting.Done()
	if j := reaper.journaled(); j != nil && !r.helpers {
		p.entry = j.Intend(p.tag)
	}
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

// rescan is how long Shutdown waits for news of killed processes before it
// scans again.
const rescan = 50 * time.Millisecond

// Shutdown ends the run: it kills all its processes, searches until it finds no
// more or ctx ends, and returns how many it killed. It never touches this
// program's own session or any of its ancestors. If this program has other
// runs, processes with only evidence that all runs share are left to the last
// one.
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
			return len(hunt.killed), joinErrors(hunt.failed)
		}
		found := hunt.scan()
		if _, after := reaper.news(); found == 0 && after == before {
			return len(hunt.killed), joinErrors(hunt.failed) // and no process died that may have left another one
		}
		timer := time.NewTimer(rescan)
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			return len(hunt.killed), errors.Join(joinErrors(hunt.failed), fmt.Errorf("cannot end every process of the run, %d are left: %w", found, context.Cause(ctx)))
		}
		timer.Stop()
	}
}
