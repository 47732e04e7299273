// Package node serves the machine as a cluster of one: its node, agent and
// server, their usage, and the log of events.
package node

import (
	"taskrun/engine/hoststats"
	"taskrun/engine/httpapi/render"
)

// Handler serves the node of a run.
type Handler struct {
	run      *render.Run
	cfg      Config
	requests *Requests
	host     hoststats.Sampler
}

// Config describes the agent.
type Config struct {
	Version string // of taskrun
	DataDir string // directory of the runs
	Ports   Ports
	Dev     bool // the agent was started with -dev
	Facts   map[string]string
}

// Ports are the ports of an agent. Nothing listens on those for other servers,
// but clients show them.
type Ports struct{ HTTP, RPC, Serf int }

// New returns a handler. requests are those of its server.
func New(run *render.Run, cfg Config, requests *Requests) *Handler {
	return &Handler{run: run, cfg: cfg, requests: requests}
}
