package taskstore

import (
	"context"
	"sync"
	"time"

	"taskrun/drivers"
)

// Exit is the end of a task. It is set once, and waiting for it needs no
// goroutine. All methods are safe for concurrent use.
type Exit struct {
	done chan struct{}

	mu      sync.Mutex
	result  drivers.ExitResult
	at      time.Time
	waiters map[chan *drivers.ExitResult]func() bool // stops the AfterFunc of a waiter's context
}

// NewExit returns the end of a running task.
func NewExit() *Exit {
	return &Exit{done: make(chan struct{}), waiters: map[chan *drivers.ExitResult]func() bool{}}
}

// Set records that the task ended at the given time. Only the first call
// counts.
func (e *Exit) Set(result drivers.ExitResult, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Ended() {
		return
	}
	e.result, e.at = result, at
	close(e.done)
	for ch, unhook := range e.waiters {
		unhook()
		e.tell(ch)
	}
	e.waiters = nil
}

// Done returns a channel that is closed when the task has ended.
func (e *Exit) Done() <-chan struct{} { return e.done }

// Wait implements Driver.WaitTask.
func (e *Exit) Wait(ctx context.Context) <-chan *drivers.ExitResult {
	ch := make(chan *drivers.ExitResult, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Ended() {
		e.tell(ch)
		return ch
	}
	e.waiters[ch] = context.AfterFunc(ctx, func() { e.giveUp(ch) })
	return ch
}

// Describe adds the task's state and end to a status.
func (e *Exit) Describe(status *drivers.TaskStatus) {
	e.mu.Lock()
	defer e.mu.Unlock()
	status.State = drivers.TaskStateRunning
	if e.Ended() {
		result := e.result
		status.State, status.CompletedAt, status.ExitResult = drivers.TaskStateExited, e.at, &result
	}
}

// Ended reports whether the task has ended.
func (e *Exit) Ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// tell sends the result to a waiter. The caller must hold mu.
func (e *Exit) tell(ch chan *drivers.ExitResult) {
	result := e.result // a copy for each waiter
	ch <- &result
	close(ch)
}

func (e *Exit) giveUp(ch chan *drivers.ExitResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, waiting := e.waiters[ch]; waiting {
		delete(e.waiters, ch)
		close(ch)
	}
}
