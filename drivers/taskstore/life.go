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

	over context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	result  drivers.ExitResult
	at      time.Time
	waiters map[chan *drivers.ExitResult]func() bool // stops the AfterFunc of a waiter's context
}

// NewLife returns the life of a task that is about to start.
func NewLife(name string) *Life {
	l := &Life{Name: name, waiters: map[chan *drivers.ExitResult]func() bool{}}
	l.over, l.end = context.WithCancel(context.Background())
	return l
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
	l.end()
	for ch, unhook := range l.waiters {
		unhook()
		l.tell(ch)
	}
	l.waiters = nil
}

// Done returns a channel that is closed when the task has ended.
func (l *Life) Done() <-chan struct{} { return l.over.Done() }

// Wait implements Driver.WaitTask.
func (l *Life) Wait(ctx context.Context) <-chan *drivers.ExitResult {
	ch := make(chan *drivers.ExitResult, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Ended() {
		l.tell(ch)
		return ch
	}
	l.waiters[ch] = context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, waiting := l.waiters[ch]; waiting {
			delete(l.waiters, ch)
			close(ch)
		}
	})
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
func (l *Life) Ended() bool { return l.over.Err() != nil }

// tell sends the result to a waiter. The caller must hold mu.
func (l *Life) tell(ch chan *drivers.ExitResult) {
	result := l.result // a copy for each waiter
	ch <- &result
	close(ch)
}

// Await waits for the end of the task, of timeout or of ctx. It reports whether the
// task has ended.
func (l *Life) Await(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-l.over.Done():
	case <-ctx.Done():
	}
	return l.Ended()
}

// Context returns a context that also ends with the task. It must be canceled.
func (l *Life) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(l.over, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// sample sends measurements until the task or ctx ends. A slow reader gets the
// latest one.
func (l *Life) sample(ctx context.Context, interval time.Duration, measure func() *drivers.TaskResourceUsage) <-chan *drivers.TaskResourceUsage {
	if interval <= 0 {
		interval = time.Second // Nomad's default
	}
	samples := make(chan *drivers.TaskResourceUsage, 1)
	go func() {
		defer close(samples)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for !l.Ended() {
			if usage := measure(); usage != nil {
				select {
				case <-samples: // the previous one was not read
				default:
				}
				samples <- usage
			}
			select {
			case <-tick.C:
			case <-l.over.Done():
			case <-ctx.Done():
				return
			}
		}
	}()
	return samples
}
