package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"taskrun/engine/leaf/safedir"
)

// OpenResident is OpenRun for a resident engine, which must have locked its state
// directory. The run holds no lock of its own.
func OpenResident(dataDir, jobID, runID, stateDir string) (*Run, error) {
	r, err := openRunOf(dataDir, jobID, runID, stateDir)
	if err != nil {
		return nil, err
	}
	if err := mark(r.Dir, stateDir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open run %q: %w", r.Dir, err), r.Remove())
	}
	return r, r.Close()
}

// ReopenResident opens the directory of a run of an earlier resident engine. The
// error is an *InUseError if another program runs the job.
func ReopenResident(dir, stateDir string) (*Run, error) {
	r, err := reopenRunOf(dir, nil, stateDir)
	if err != nil {
		return nil, err
	}
	return r, r.Close()
}

// ResidentRuns returns the directories of the runs of a resident engine, and
// removes what is left of runs whose removal was interrupted.
func ResidentRuns(dataDir, stateDir string) (dirs []string, err error) {
	jobs, err := Jobs(dataDir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, job := range jobs {
		runs := runsDir(jobDir(dataDir, job))
		entries, err := os.ReadDir(runs)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		for _, e := range entries {
			dir := filepath.Join(runs, e.Name())
			if owner, ok := residentOf(dir); !ok || owner != stateDir {
				continue
			}
			if strings.HasPrefix(e.Name(), removing) {
				errs = append(errs, safedir.RemoveIn(runs, e.Name()))
			} else if !isHidden(e.Name()) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, errors.Join(errs...)
}
