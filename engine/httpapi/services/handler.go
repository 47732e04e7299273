// Package services serves what is registered in the catalog of services.
package services

import (
	"taskrun/engine/httpapi/render"
)

// Handler serves the services of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }
