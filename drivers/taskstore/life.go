package taskstore

import (
	"context"
	"maps"
	"sync"
	"time"

	"taskrun/drivers"
)

// Life is how long a task runs: since when, and until its end, which is set once.
// Waiting for the end needs no goroutine. All methods are safe for concurrent use.
type Life struct {
	// These are set before the task is kept in a Store.
	Name       string // of the task
	StartedAt  time.Time
	Attributes map[string]string // of its status

	done chan struct{}

	mu      sync.Mutex
	result  drivers.ExitResult
	at      time.Time
	waiters map[chan *drivers.ExitResult]func() bool // stops the AfterFunc of a waiter's context
}

// NewLife returns the life of a task that is about to start.
func NewLife(name string) *Life {
	return &Life{Name: name, done: make(chan struct{}), waiters: map[chan *drivers.ExitResult]func() bool{}}
}

// Set records that the task ended at the given time. Only the first call
// counts.
func (l *Life) Set(result drivers.ExitResult, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Ended() {
		return
	}
	l.result, l.at = result, at
	close(l.done)
	for ch, unhook := range l.waiters {
		unhook()
		l.tell(ch)
	}
	l.waiters = nil
}

// Done returns a channel that is closed when the task has ended.
func (l *Life) Done() <-chan struct{} { return l.done }

// Wait implements Driver.WaitTask.
func (l *Life) Wait(ctx context.Context) <-chan *drivers.ExitResult {
	ch := make(chan *drivers.ExitResult, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Ended() {
		l.tell(ch)
		return ch
	}
	l.waiters[ch] = context.AfterFunc(ctx, func() { l.giveUp(ch) })
	return ch
}

// status returns the status of the task with an ID.
func (l *Life) status(id string) *drivers.TaskStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	status := &drivers.TaskStatus{
		ID: id, Name: l.Name, StartedAt: l.StartedAt, Attributes: maps.Clone(l.Attributes), State: drivers.TaskStateRunning,
	}
	if l.Ended() {
		result := l.result
		status.State, status.CompletedAt, status.ExitResult = drivers.TaskStateExited, l.at, &result
	}
	return status
}

// Ended reports whether the task has ended.
func (l *Life) Ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// tell sends the result to a waiter. The caller must hold mu.
func (l *Life) tell(ch chan *drivers.ExitResult) {
	result := l.result // a copy for each waiter
	ch <- &result
	close(ch)
}

func (l *Life) giveUp(ch chan *drivers.ExitResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, waiting := l.waiters[ch]; waiting {
		delete(l.waiters, ch)
		close(ch)
	}
}
