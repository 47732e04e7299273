// Package sessions serves commands in tasks, over websockets: exec and actions.
package sessions

import (
	"sync"

	"taskrun/engine/httpapi/render"
)

// Handler serves the sessions of a run.
type Handler struct {
	run  *render.Run
	open sync.WaitGroup // over connections that net/http knows nothing of
}

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run: run} }

// Wait returns when the last session has ended.
func (h *Handler) Wait() { h.open.Wait() }
