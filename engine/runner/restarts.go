package runner

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// Errors of orders that cannot be carried out, in Nomad's words.
var (
	ErrTaskNotRunning = hooks.ErrNotRunning
	ErrUnknownTask    = errors.New("Task not found") //nolint:staticcheck // Nomad's words
	ErrAllocEnded     = errors.New("restart of an alloc that should not run")
)

// restartRequest asks a running task to stop and start again, or only to stop.
type restartRequest struct {
	event   *api.TaskEvent // nil if it was told already
	failure bool           // the restart counts like an exit
	halt    bool           // it starts when it is ordered to
	taken   chan struct{}  // closed when the task has reported the restart
	begin   chan struct{}  // closed when the task may stop
	done    chan error     // receives one answer, when the old run has ended
}

func newRestart(why *api.TaskEvent, failure bool) *restartRequest {
	return &restartRequest{event: why, failure: failure, taken: make(chan struct{}), begin: make(chan struct{}), done: make(chan error, 1)}
}

// awaitTaken waits until the task has reported the restart, or has refused it.
// over is closed at the end of the allocation.
func (req *restartRequest) awaitTaken(ctx context.Context, over <-chan struct{}) {
	select {
	case <-req.taken:
	case err := <-req.done:
		req.done <- err
	case <-over:
	case <-ctx.Done():
	}
}

// await waits for the answer to a request. A task that was given up never
// answers.
func (req *restartRequest) await(ctx context.Context, over <-chan struct{}) error {
	select {
	case err := <-req.done:
		return err
	case <-over:
	case <-ctx.Done():
	}
	select {
	case err := <-req.done: // it was answered before that
		return err
	default:
		return cmp.Or(context.Cause(ctx), ErrTaskNotRunning)
	}
}

// inlet takes requests for a running task, one at a time.
type inlet struct {
	requests chan *restartRequest // capacity 1

	mu   sync.Mutex
	open admission
}

// admission says which requests an inlet takes.
type admission uint8

const (
	nothing    admission = iota
	halts                // those that only stop the task: it waits for its next start
	everything           // the task is running
)

// offer passes a request to the task, or refuses it.
func (in *inlet) offer(req *restartRequest) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.open == everything || in.open == halts && req.halt {
		select {
		case in.requests <- req:
			return
		default: // another request is in progress
		}
	}
	req.done <- ErrTaskNotRunning
}

func (in *inlet) accept(which admission) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = which
}

// refuse closes the inlet, and refuses a request that came too late.
func (in *inlet) refuse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = nothing
	select {
	case req := <-in.requests:
		req.done <- ErrTaskNotRunning
	default:
	}
}
