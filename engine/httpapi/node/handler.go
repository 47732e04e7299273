// Package node serves the machine as a cluster of one: its node, agent and
// server, their usage, and the log of events.
package node

import (
	"taskrun/engine/hoststats"
	"taskrun/engine/httpapi/render"
)

// Handler serves the node of a run.
type Handler struct {
	run     *render.Run
	version string // version of taskrun
	dataDir string
	host    hoststats.Sampler
}

// New returns a handler. Version is taskrun's, dataDir the directory of the
// runs.
func New(run *render.Run, version, dataDir string) *Handler {
	return &Handler{run: run, version: version, dataDir: dataDir}
}
