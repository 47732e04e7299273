package play

import (
	"context"
	"errors"

	"taskrun/cmd/jobtest"
)

// playReal carries out a run with real drivers, in real time.
func (p *Player) playReal(context.Context, *Prepared, uint64, string) (*jobtest.Outcome, error) {
	return nil, errors.New("real runs are not supported yet")
}
