// Package files serves the files of allocations and the output of tasks.
package files

// Handler serves the files of an engine's allocations.
type Handler struct {
	engine  Engine
	outputs outputs
	watches watches
}

// New returns a handler.
func New(e Engine) *Handler { return &Handler{engine: e, outputs: outputs{engine: e}} }
