package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taskrun/cmd/source"
)

// findRun returns the run of a job or, without one, the only run there is. Of
// several of the same job it is that of a data directory, if one is given.
func (a *app) findRun(ctx context.Context, job, dataDir string) (*source.Directory, error) {
	runs, err := a.liveRuns(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	var found []*source.Directory
	for _, r := range runs {
		names = append(names, r.IDs...)
		if job == "" || slices.Contains(r.IDs, job) {
			found = append(found, r)
		}
	}
	if len(found) > 1 && job != "" && dataDir != "" {
		if dataDir, err = a.dataDir(dataDir); err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(r *source.Directory) bool { return r.Self.DataDir != dataDir })
	}
	slices.Sort(names)
	running := "running are: " + strings.Join(names, ", ")
	switch {
	case len(runs) == 0:
		return nil, noRun(exitFailed)
	case len(found) == 0 && slices.Contains(names, job):
		return nil, (&exitError{code: exitFailed, err: fmt.Errorf("job %q does not run in data directory %s, but in several others", job, dataDir)}).
			withHint("name one of them with --data-dir")
	case len(found) == 0:
		return nil, (&exitError{code: exitFailed, err: fmt.Errorf("job %q does not run here", job)}).withHint("%s", running)
	case len(found) > 1 && job == "":
		return nil, usageError("several runs are here: name a job").withHint("%s", running)
	case len(found) > 1:
		return nil, usageError("job %q runs more than once, in several data directories", job).withHint("name one of them with --data-dir")
	}
	return found[0], nil
}

// liveRuns asks every engine of this user what it runs.
func (a *app) liveRuns(ctx context.Context) (runs []*source.Directory, err error) {
	servers, err := a.localServers(ctx)
	if err != nil {
		return nil, err
	}
	var diagnostics error
	for _, s := range servers {
		self, err := s.Self(ctx)
		if err != nil {
			diagnostics = errors.Join(diagnostics, err)
			continue
		}
		runs = append(runs, source.NewDirectory(s, self))
	}
	if len(runs) == 0 && diagnostics != nil {
		return nil, diagnostics
	}
	return runs, nil
}
