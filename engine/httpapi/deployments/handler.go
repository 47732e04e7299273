// Package deployments serves deployments, and the orders to promote, pause and
// fail them.
package deployments

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves the deployments of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
