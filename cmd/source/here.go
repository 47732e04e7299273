package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// SweepTime is how long the engine may look for processes that tasks left behind.
const SweepTime = 10 * time.Second

// GiveUpTime is how long a killed run may take to end. After that its keeper kills
// the remaining processes.
const GiveUpTime = 15 * time.Second

// ErrGivenUp says that a killed run has not ended in time.
var ErrGivenUp = fmt.Errorf("the engine has not ended %v after the kill; its keeper kills the remaining processes", GiveUpTime)

// Here is the run of an engine in this process. The engine ends with the run.
type Here struct {
	engine *engine.Engine
	subs   []*event.Subscription
	kill   sync.Once
	killed chan struct{}
}

// NewHere returns the run of an engine that has no jobs yet.
func NewHere(e *engine.Engine) *Here { return &Here{engine: e, killed: make(chan struct{})} }

// Past returns no events: the run has not started.
func (h *Here) Past(context.Context) ([]event.Event, error) { return nil, nil }

// Subscribe returns the events of the run. It must not be called during Follow.
func (h *Here) Subscribe(output bool) *event.Subscription {
	sub := h.engine.Subscribe(output)
	h.subs = append(h.subs, sub)
	return sub
}

// Follow waits until all jobs have ended, and closes the engine. The error is about
// processes that it could not kill; the keeper kills them.
func (h *Here) Follow(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() {
		<-h.engine.Done()
		ctx, cancel := context.WithTimeout(ctx, SweepTime)
		defer cancel()
		closed <- h.engine.Close(ctx)
	}()
	select {
	case err := <-closed:
		return err
	case <-h.killed:
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(GiveUpTime):
		for _, sub := range h.subs {
			sub.Finish()
		}
		return ErrGivenUp
	}
}

// Stop stops or kills all jobs.
func (h *Here) Stop(_ context.Context, kill bool) error {
	if !kill {
		h.engine.Stop()
		return nil
	}
	h.kill.Do(func() { close(h.killed) })
	h.engine.Kill()
	return nil
}
