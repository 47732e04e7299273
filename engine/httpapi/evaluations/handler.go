// Package evaluations serves evaluations, each of which stands for a change.
package evaluations

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves the evaluations of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
