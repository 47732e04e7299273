package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taskrun/cmd/client"
	"taskrun/engine/httpapi"
)

// liveRun is a run that is served here.
type liveRun struct {
	server *client.Server
	self   *client.Self
	jobs   []string // IDs, sorted
}

// findRun returns the run of a job or, without one, the only run there is.
func (a *app) findRun(ctx context.Context, job, sockets string) (*liveRun, error) {
	runs, err := a.liveRuns(ctx, sockets)
	if err != nil {
		return nil, err
	}
	var names []string
	var found []*liveRun
	for _, r := range runs {
		names = append(names, r.jobs...)
		if job == "" || slices.Contains(r.jobs, job) {
			found = append(found, r)
		}
	}
	slices.Sort(names)
	running := "running are: " + strings.Join(names, ", ")
	switch {
	case len(runs) == 0:
		return nil, noRun(exitFailed)
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
func (a *app) liveRuns(ctx context.Context, sockets string) (runs []*liveRun, err error) {
	paths, err := httpapi.Find(sockets)
	if err != nil {
		return nil, err
	}
	var problems error
	for _, path := range paths {
		s, err := client.Local(path)
		if err != nil {
			return nil, err
		}
		self, err := s.Self(ctx)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		r := &liveRun{server: s, self: self}
		for job := range self.Runs {
			r.jobs = append(r.jobs, job)
		}
		slices.Sort(r.jobs)
		runs = append(runs, r)
	}
	if len(runs) == 0 && problems != nil {
		return nil, problems
	}
	return runs, nil
}
