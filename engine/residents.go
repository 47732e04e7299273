package engine

import (
	"errors"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/store"
)

// residents returns the runs that an earlier resident engine has left. It removes
// those whose registration was interrupted.
func (e *Engine) residents() (runs []Run, err error) {
	dirs, err := allocdir.ResidentRuns(e.cfg.DataDir, e.cfg.StateDir)
	if err != nil {
		e.notice("%v", err)
	}
	for _, dir := range dirs {
		if store.HasState(dir) || store.HasHistory(dir) {
			runs = append(runs, Run{Dir: dir})
			continue
		}
		r, err := allocdir.ReopenResident(dir, e.cfg.StateDir)
		if err == nil {
			err = r.Remove()
		}
		if err != nil && !errors.Is(err, allocdir.ErrInUse) {
			e.notice("%v", err)
		}
	}
	return runs, nil
}
