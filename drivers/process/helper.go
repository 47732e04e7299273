package process

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// NewHelpers returns a run of helpers: processes that serve this program and
// start no others. Shutdown of another run ignores them, and no journal records
// them. Their own Shutdown kills only them.
func NewHelpers() *Run {
	r := NewRun()
	r.helpers = true
	return r
}

// dismiss implements Shutdown for helpers.
func (r *Run) dismiss(ctx context.Context) (killed int, err error) {
	for _, p := range reaper.ofRun(r) {
		if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return killed, err
		}
		select {
		case <-p.Gone():
			killed++
		case <-ctx.Done():
			return killed, context.Cause(ctx)
		}
	}
	return killed, nil
}

func (r *reaping) ofRun(run *Run) (list []*Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.procs {
		if p.run == run {
			list = append(list, p)
		}
	}
	return list
}

// helperStarts reports whether a helper is being forked that is not known yet.
// It could be mistaken for a process of any run.
func (r *reaping) helperStarts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.starting {
		if p.run.helpers {
			return true
		}
	}
	return false
}
