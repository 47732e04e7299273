// Package sessions serves commands in tasks over websockets: exec and actions.
package sessions

import "taskrun/engine/httpapi/render"

// Handler serves the sessions of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
