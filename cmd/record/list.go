package record

import (
	"errors"
	"slices"
	"strings"

	"taskrun/cmd/source"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
)

// List returns the runs in a data directory, or those of one job, given its name or
// its key. They are sorted by job, the newest first. A run that cannot be read is
// listed, too, as far as it is known. The error is about jobs whose runs cannot be
// listed; the runs of the others are returned with it.
func List(dataDir, job string, live []*source.Directory) (runs []*Run, err error) {
	jobs, err := datadir.Jobs(dataDir)
	if err != nil {
		return nil, err
	}
	if job != "" {
		jobs = slices.DeleteFunc(jobs, func(key string) bool { return event.JobName(key) != event.JobName(job) })
	}
	for _, job := range jobs {
		ids, failure := datadir.Runs(dataDir, job)
		err = errors.Join(err, failure)
		for _, id := range slices.Backward(ids) {
			dir := datadir.RunDir(dataDir, job, id)
			r := At(dir, job)
			for _, d := range live {
				if d.Self.Runs[job] == dir {
					r.Live, r.Kept = !d.EndedJobs[job], d.EndedJobs[job]
				}
			}
			runs = append(runs, r)
		}
	}
	return runs, err
}

// Latest returns the latest run of each job that is not running, and that no agent
// has.
func Latest(runs []*Run) (latest []*Run) {
	seen := map[string]bool{}
	for _, r := range runs {
		if !seen[r.Job] && !r.Live && !r.Kept {
			latest = append(latest, r)
		}
		seen[r.Job] = true
	}
	return latest
}

// NewestFirst returns runs with the latest start first.
func NewestFirst(runs []*Run) []*Run {
	return slices.SortedFunc(slices.Values(runs), func(a, b *Run) int { return strings.Compare(b.ID, a.ID) })
}
