// Package allocations serves allocations: lists and single ones, what they use,
// and the orders to stop, restart and signal them.
package allocations

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves the allocations of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
