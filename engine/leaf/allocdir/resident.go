package allocdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// residentFile is the name of the file that marks a run as one of a resident
// engine. It contains the path of the engine's state directory: as long as that
// is locked, so is the name of the run's job.
const residentFile = "resident"

// OpenResident is OpenRun for a resident engine, which must have locked its state
// directory. The run holds no lock of its own.
func OpenResident(dataDir, jobID, runID, stateDir string) (*Run, error) {
	r, err := openRunOf(dataDir, jobID, runID, stateDir)
	if err != nil {
		return nil, err
	}
	if err := r.mark(stateDir); err != nil {
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

func (r *Run) mark(stateDir string) error {
	next := filepath.Join(r.Dir, "."+residentFile)
	if err := os.WriteFile(next, []byte(stateDir), 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(r.Dir, residentFile))
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
				errs = append(errs, removeAll(runs, e.Name()))
			} else if !isHidden(e.Name()) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, errors.Join(errs...)
}

// Disown makes a run of a resident engine one that has ended.
func Disown(runDir string) error { return os.Remove(filepath.Join(runDir, residentFile)) }

func removeAll(dir, name string) error {
	r, err := newRemover(dir)
	if err != nil {
		return err
	}
	defer r.close()
	return r.remove(name)
}

// residentOf returns the state directory of the resident engine of a run, and
// whether it has one.
func residentOf(runDir string) (stateDir string, ok bool) {
	f, err := os.Open(filepath.Join(runDir, residentFile))
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, unix.PathMax))
	return string(text), err == nil
}

// checkResidents returns an *InUseError if a live resident engine, other than
// that with a state directory, has a run of a job.
func checkResidents(jobDir, jobID, own string) error {
	entries, err := os.ReadDir(runsDir(jobDir))
	if err != nil {
		return nil //nolint:nilerr // it has no runs
	}
	for _, e := range entries {
		stateDir, ok := residentOf(filepath.Join(runsDir(jobDir), e.Name()))
		if !ok || stateDir == own {
			continue
		}
		if pid, locked := holder(stateDir); locked {
			return &InUseError{JobID: jobID, PID: pid}
		}
	}
	return nil
}

// holder reports whether a state directory is locked, and the process that has
// written its PID into the lock.
func holder(stateDir string) (pid int, locked bool) {
	f, err := os.Open(filepath.Join(stateDir, lockFile))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if err := runtimedir.Flock(f, unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false // closing the file releases the lock
	}
	return readPID(f), true
}
