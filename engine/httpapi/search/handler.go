// Package search serves searches for whatever has an ID or a name.
package search

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves searches in a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
