// Package variables serves Nomad's variables.
package variables

import (
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/leaf/variable"
)

// Handler serves the variables of a run.
type Handler struct {
	store *variable.Store
	index func(topic.Topic) uint64
}

// New returns a handler of a store, with the indexes of its changes.
func New(store *variable.Store, index func(topic.Topic) uint64) *Handler {
	return &Handler{store, index}
}
