package taskstore

import (
	"context"
	"time"

	"taskrun/drivers"
)

// Await waits for the end of the task, of timeout or of ctx. It reports whether the
// task has ended.
func (l *Life) Await(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	return l.Ended()
}

// Context returns a context that also ends with the task. It must be canceled.
func (l *Life) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
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
			case <-l.done:
			case <-ctx.Done():
				return
			}
		}
	}()
	return samples
}
