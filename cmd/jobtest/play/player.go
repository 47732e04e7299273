package play

import (
	"cmp"
	"time"

	"taskrun/cmd/jobfile"
	"taskrun/drivers"
)

const (
	// VirtualTime is how much virtual time a run may take, unless it says so itself.
	VirtualTime = 7 * 24 * time.Hour
	// RealTime is how long a real run may take, unless it says so itself.
	RealTime = 5 * time.Minute
	// MaxEvents is how many events a run may have, unless the player says so itself.
	MaxEvents = 1_000_000
)

// Options are the options of all runs.
type Options struct {
	Drivers func() map[string]drivers.Driver // new ones, by name; virtual runs have mocks of them
	Environ []string                         // "K=V"
	Dir     string                           // where runs are kept until their outcomes are closed
	// Vars and VarFiles give variables of jobs values, as the flags of taskrun up do.
	// They win over those of the test file.
	Vars, VarFiles []string
	SecretVars     bool // messages hide the values of Vars
	// Records is the directory in which later commands look for remains of real
	// runs; see package keeper. Real runs create it. If it is empty, later commands
	// find nothing.
	Records string
	// OnRead, if set, is called with each job file, which may have errors.
	OnRead func(jobfile.File)
	// MaxEvents is how many events a run may have; 0 means MaxEvents.
	MaxEvents int64
	// PortDir is where runs of this user tell each other which ports they gave out;
	// see the engine. Empty: they do not.
	PortDir string
}

// Player carries out runs one after another. Each run in real time has its own
// drivers, because a driver that was shut down starts nothing.
type Player struct {
	Options
	known map[string]drivers.Driver // that run nothing
}

// New returns a player.
func New(opts Options) *Player {
	opts.MaxEvents = cmp.Or(opts.MaxEvents, MaxEvents)
	return &Player{opts, opts.Drivers()}
}
