package cmd

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"taskrun/drivers"
	"taskrun/engine/leaf/datadir"
)

// leftovers are the objects that drivers have made for the runs of a data
// directory, by job.
type leftovers struct {
	byJob   map[string][]leftover
	removed int
}

type leftover struct {
	drivers.Leftover
	finder drivers.Finder
}

// findLeftovers asks the usable drivers. It ignores leftovers of runs in other
// data directories, whose locks it cannot see.
func findLeftovers(ctx context.Context, a *app, dataDir string) (*leftovers, error) {
	left := &leftovers{byJob: map[string][]leftover{}}
	dataDir, err := filepath.Abs(dataDir) // as OpenRun does
	errs := []error{err}
	found := map[drivers.Leftover]bool{} // two drivers may use the same engine
	for _, name := range slices.Sorted(maps.Keys(a.drivers())) {
		finder, ok := a.drivers()[name].(drivers.Finder)
		if !ok || a.health().Of(name).Health != drivers.HealthHealthy {
			continue
		}
		all, err := finder.Leftovers(ctx)
		errs = append(errs, err)
		for _, l := range all {
			runDir := filepath.Dir(filepath.Dir(l.AllocDir))
			if job := datadir.JobOf(runDir); !found[l] && runDir == datadir.RunDir(dataDir, job, filepath.Base(runDir)) {
				found[l] = true
				left.byJob[job] = append(left.byJob[job], leftover{l, finder})
			}
		}
	}
	return left, errors.Join(errs...)
}

// remove removes the leftovers of a job, or of one run of it. The caller must hold the
// lock.
func (l *leftovers) remove(ctx context.Context, job, runDir string) error {
	var errs []error
	for _, one := range l.byJob[job] {
		if runDir != "" && filepath.Dir(filepath.Dir(one.AllocDir)) != runDir {
			continue
		}
		err := one.finder.RemoveLeftover(ctx, one.Leftover)
		if err == nil {
			l.removed++
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
