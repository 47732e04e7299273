// Package events serves Nomad's event stream.
package events

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves the events of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
