// Package taskapi is the task hook that creates the socket of the task API,
// secrets/api.sock. There a task can use Nomad's HTTP API with the tokens of
// its workload identities. See
// https://developer.hashicorp.com/nomad/api-docs/task-api.
package taskapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// name is the name of the socket in the task's secrets directory.
const name = "api.sock"

// Serve serves connections of a listener until it is closed. It returns after
// the last request.
type Serve func(net.Listener)

type hook struct {
	task  hooks.Task
	serve Serve

	listener net.Listener // nil: none
	served   chan struct{}
}

// New returns a factory of hooks.
func New(serve Serve) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook { return &hook{task: t, serve: serve} }
}

func (h *hook) Name() string { return "api" }

// Prestart creates the socket, which serves all starts. As in Nomad, a task
// starts without it if it cannot be created.
func (h *hook) Prestart(context.Context, *hooks.PrestartRequest, *hooks.PrestartResponse) error {
	if h.listener != nil {
		return nil
	}
	l, err := h.task.Dir.ListenSecret(h.task.Task.Name, name, h.task.Owner())
	if err != nil {
		h.task.Publish(time.Now(), event.Notice{Text: fmt.Sprintf("task %q has no task API: %v", h.task.Task.Name, err)})
		return nil
	}
	h.listener, h.served = l, make(chan struct{})
	go func() {
		defer close(h.served)
		h.serve(l)
	}()
	return nil
}

// Stop removes the socket.
func (h *hook) Stop(context.Context) error {
	h.Shutdown()
	err := h.task.Dir.RemoveSecret(h.task.Task.Name, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Shutdown stops serving and leaves the socket, which the next engine replaces.
func (h *hook) Shutdown() {
	if h.listener == nil {
		return
	}
	_ = h.listener.Close()
	<-h.served
	h.listener = nil
}
