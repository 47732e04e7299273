package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// giveUpTime is how long a hook or a driver may take to return after its task,
// or the allocation, was killed. After that, nothing waits for it.
const giveUpTime = 5 * time.Second

// errGivenUp is the error of a hook that has not returned.
var errGivenUp = fmt.Errorf("it has not returned %v after the kill", giveUpTime)

// within returns the result of f, or errGivenUp if f has not returned
// giveUpTime after killed was closed (or after the call, if that is later). An
// f that was given up keeps running, and keeps what it uses.
func within(killed <-chan struct{}, f func() error) error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-killed:
	}
	select {
	case err := <-result:
		return err
	case <-time.After(giveUpTime):
		return errGivenUp
	}
}

// taskHook is a hook and the state it left behind in earlier calls.
type taskHook struct {
	hooks.TaskHook
	gifts
	givenUp atomic.Bool // it has not returned
}

// call calls a phase of the hook. A hook that was given up is still busy and is
// not called again.
func (h *taskHook) call(killed context.Context, phase func() error) error {
	if h.givenUp.Load() {
		return nil
	}
	err := within(killed.Done(), phase)
	if errors.Is(err, errGivenUp) {
		h.givenUp.Store(true)
	}
	return err
}

// gifts is the stored form of the things that a hook has given to its task.
type gifts struct {
	Done    bool              `json:"done,omitempty"`
	State   map[string]string `json:"state,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Mounts  []drivers.Mount   `json:"mounts,omitempty"`
	Devices []drivers.Device  `json:"devices,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
}

// phases returns the hooks that implement a phase, in order.
func phases[H any](list []hooks.AllocHook) iter.Seq[H] {
	return func(yield func(H) bool) {
		for _, h := range list {
			if h, ok := h.(H); ok && !yield(h) {
				return
			}
		}
	}
}

// hookFailure returns the event for the error of a hook.
func hookFailure(h *taskHook, err error) *api.TaskEvent {
	if own, ok := errors.AsType[*hooks.EventError](err); ok {
		return own.Event
	}
	return event.HookFailed(h.Name(), err)
}

// startFailure explains why a task could not be started.
type startFailure struct {
	event       *api.TaskEvent
	recoverable bool
}

func failed(err error, e *api.TaskEvent) *startFailure {
	return &startFailure{event: e, recoverable: drivers.IsRecoverable(err)}
}
