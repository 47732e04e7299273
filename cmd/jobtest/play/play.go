// Package play carries out the runs of job tests. A virtual run has mock tasks and
// the clock of a bubble of testing/synctest, in which it must be called; a real one
// has the drivers and the clock of the machine. Both go the same way:
//
//	Prepare ─ job, versions ─→ Play: engine ─ events ─→ follow ─→ outcome
//	                                    ↑ orders, at their time     │ until
//	                                    └───────────────────────────┘
//
// The outcome is that of the moment when the run has come to what its until says.
// The job is stopped after that, and what happens then is not part of the outcome.
package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest"
	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/jobspec"
)

const (
	// VirtualTime is how much virtual time a run may take, unless it says so itself.
	VirtualTime = 7 * 24 * time.Hour
	// RealTime is how long a real run may take, unless it says so itself.
	RealTime = 5 * time.Minute
	// MaxEvents is how many events a run may have, unless the player says so itself.
	MaxEvents = 1_000_000
)

// Options are what all runs have in common.
type Options struct {
	Drivers func() map[string]drivers.Driver // new ones, by name; virtual runs have mocks of them
	Environ []string                         // "K=V"
	Dir     string                           // where runs are kept until their outcomes are closed
	// Vars and VarFiles give variables of jobs values, as the flags of taskrun up do.
	// They win over those of the test file.
	Vars, VarFiles []string
	SecretVars     bool // messages hide the values of Vars
	// Records is the directory in which later commands look for what is left of
	// real runs; see the keeper. Empty: nothing is found there.
	Records string
	// OnRead, if set, is called with each job file, which may have errors.
	OnRead func(jobfile.File)
	// MaxEvents is how many events a run may have; 0 means MaxEvents.
	MaxEvents int64
	// PortDir is where runs of this user tell each other which ports they gave out;
	// see the engine. Empty: they do not.
	PortDir string
}

// Player carries out runs, one after another: those in real time with drivers of their
// own, since a driver that was shut down starts nothing any more.
type Player struct {
	Options
	known map[string]drivers.Driver // that run nothing
}

// New returns a player.
func New(opts Options) *Player {
	opts.MaxEvents = cmp.Or(opts.MaxEvents, MaxEvents)
	return &Player{opts, opts.Drivers()}
}

// refused is the error of an order or a command that could not be carried out. It
// stands where that stands.
func refused(at hcl.Range, summary string, err error) error {
	return jobspec.Diagnostic{Summary: summary, Detail: err.Error(), Range: jobspec.RangeOf(at)}
}

// Play carries out a run that was prepared; it can be done once. A virtual one must
// be called in a bubble, with a context of that, and leaves no goroutine there. When
// Play returns nothing of the run is left but its directory, until the outcome is
// closed. The error is a [jobspec.Diagnostic] when the run did not go as the test
// says, because of an order or a command; there is an outcome then, which tells how
// far the run came.
func (p *Player) Play(ctx context.Context, job *Prepared, seed uint64) (*jobtest.Outcome, error) {
	dir, err := os.MkdirTemp(p.Dir, "run-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the run: %w", err)
	}
	play := p.playVirtual
	if job.Run.Mode == jobtest.Real {
		play = p.playReal
	}
	o, err := play(ctx, job, seed, dir)
	if o == nil {
		return nil, errors.Join(err, allocdir.Remove(dir))
	}
	o.Notices, o.Secrets = append(slices.Clone(job.notices), o.Notices...), job.stubs.SecretValues()
	o.Close = func() error { return allocdir.Remove(dir) }
	return o, err
}

// limit is how long the run may take.
func (p *Prepared) limit(otherwise time.Duration) time.Duration {
	return cmp.Or(p.Run.Timeout, otherwise)
}

// launches reports whether a job only launches others.
func launches(j *api.Job) bool { return j.IsPeriodic() || j.IsParameterized() }
