// Package play carries out the runs of job tests. A virtual run has mock tasks and
// the clock of a bubble of testing/synctest, in which it must be called; a real one
// has the drivers and the clock of the machine. Both go the same way:
//
//	Prepare ─ job, versions ─→ Play: engine ─ events ─→ follow ─→ outcome
//	                                    ↑ orders, at their time     │ until
//	                                    └───────────────────────────┘
//
// The outcome is the state at the moment when the run satisfies its until. The job
// is stopped after that, and later events are not part of the outcome.
package play

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"taskrun/cmd/jobtest"
	"taskrun/engine/leaf/allocdir"
)

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
