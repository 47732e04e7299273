// Package files serves the files of allocations and the output of tasks.
package files

import (
	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Engine is what runs the tasks.
type Engine interface {
	Alloc(id string) (engine.Alloc, bool)
	Subscribe(output bool) *event.Subscription
	SubscribeTo(wanted func(event.Event) bool) *event.Subscription
}

// Handler serves the files of an engine's allocations.
type Handler struct {
	engine  Engine
	outputs outputs
	watches watches
}

// New returns a handler.
func New(e Engine) *Handler { return &Handler{engine: e, outputs: outputs{engine: e}} }
