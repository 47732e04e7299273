package runner

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// The answers to an order that cannot be carried out, in Nomad's words.
var (
	ErrTaskNotRunning = hooks.ErrNotRunning
	ErrUnknownTask    = errors.New("Task not found") //nolint:staticcheck // Nomad's words
	ErrAllocEnded     = errors.New("restart of an alloc that should not run")
)

// restartRequest asks a running task to end and start again.
type restartRequest struct {
	event   *api.TaskEvent
	failure bool          // the restart counts, as an exit would
	taken   chan struct{} // closed when the task has told of it
	begin   chan struct{} // closed when the task may stop
	done    chan error    // gets one answer, when the old run has ended
}

func newRestart(why *api.TaskEvent, failure bool) *restartRequest {
	return &restartRequest{event: why, failure: failure, taken: make(chan struct{}), begin: make(chan struct{}), done: make(chan error, 1)}
}

// awaitTaken waits until the task has told that it restarts, or does not. over
// is closed when the allocation is.
func (req *restartRequest) awaitTaken(ctx context.Context, over <-chan struct{}) {
	select {
	case <-req.taken:
	case err := <-req.done:
		req.done <- err
	case <-over:
	case <-ctx.Done():
	}
}

// await waits for the answer to a request. A task that was given up has none.
func (req *restartRequest) await(ctx context.Context, over <-chan struct{}) error {
	select {
	case err := <-req.done:
		return err
	case <-over:
	case <-ctx.Done():
	}
	select {
	case err := <-req.done: // it had been answered before
		return err
	default:
		return cmp.Or(context.Cause(ctx), ErrTaskNotRunning)
	}
}

// inlet is where a task takes requests while it runs. At most one waits.
type inlet struct {
	requests chan *restartRequest // of capacity 1

	mu   sync.Mutex
	open bool
}

// offer hands the task a request, or refuses it.
func (in *inlet) offer(req *restartRequest) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.open {
		select {
		case in.requests <- req:
			return
		default: // one is under way
		}
	}
	req.done <- ErrTaskNotRunning
}

func (in *inlet) accept() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = true
}

// refuse takes no more requests, and answers one that came too late.
func (in *inlet) refuse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = false
	select {
	case req := <-in.requests:
		req.done <- ErrTaskNotRunning
	default:
	}
}
