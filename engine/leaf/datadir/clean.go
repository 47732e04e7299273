package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"taskrun/engine/leaf/safedir"
)

// Prune removes the oldest runs of the job until keep are left, and the remains
// of an interrupted Prune. This run counts and is never removed. No other run
// of the job can be alive, because this one holds the lock. Those of a resident
// engine stay.
func (r *Run) Prune(keep int) error {
	if r.lock == nil {
		return fmt.Errorf("cannot prune runs: %w", os.ErrClosed)
	}
	entries, err := os.ReadDir(runsDir(r.jobDir)) // sorted by name, which means by time
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	var begun, old []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, removing):
			begun = append(begun, name)
		case e.IsDir() && !isHidden(name) && name != filepath.Base(r.Dir):
			if _, resident := residentOf(filepath.Join(runsDir(r.jobDir), name)); !resident {
				old = append(old, name)
			}
		}
	}
	old = old[:max(0, len(old)-max(0, keep-1))]
	if len(begun)+len(old) == 0 {
		return nil
	}
	remover, err := safedir.OpenRemover(runsDir(r.jobDir))
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	defer remover.Close()
	var errs []error
	for _, name := range begun {
		errs = append(errs, remover.Remove(name))
	}
	for _, id := range old {
		errs = append(errs, removeRun(remover, id))
	}
	return errors.Join(errs...)
}

// Clean removes the oldest runs of a job that is not running until keep are
// left, and from the remaining ones everything that only a live run needs:
// secrets, pipes, and state. With keep 0, it also forgets the ports and the
// sticky directories of the job. The error is an *InUseError if the job is
// running.
//
// Once the job is locked, Clean first calls first, to remove things in other
// places. If first returns an error, the directories stay, because something
// may still use them.
func Clean(dataDir, jobID string, keep int, first func() error) error {
	dir := jobDir(dataDir, jobID)
	lock, err := lockJob(dir, jobID, "")
	if err != nil {
		return err
	}
	if err := first(); err != nil {
		return errors.Join(err, unlock(lock))
	}
	r := &Run{Dir: filepath.Join(runsDir(dir), "."), jobDir: dir, lock: lock}
	errs := []error{r.Prune(keep + 1)} // Prune counts r, which has no directory
	left, err := Runs(dataDir, jobID)
	errs = append(errs, err)
	for _, id := range left {
		errs = append(errs, Abandon(RunDir(dataDir, jobID, id), os.Getpid()))
	}
	if keep == 0 {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, "sticky")), os.RemoveAll(r.PortsFile()))
	}
	return errors.Join(append(errs, r.Close())...)
}

// CleanRun removes one run of a job. The error is an *InUseError if that run is live;
// others of a running job can be removed. Once it is known not to be live, CleanRun
// calls first, like Clean.
func CleanRun(dataDir, jobID, runID string, first func() error) error {
	dir := jobDir(dataDir, jobID)
	lock, err := lockJob(dir, jobID, "")
	switch {
	case err == nil:
		defer func() { _ = unlock(lock) }()
	case errors.Is(err, ErrInUse):
		// The live run is the newest one, or is about to create its directory.
		ids, listing := Runs(dataDir, jobID)
		_, resident := residentOf(RunDir(dataDir, jobID, runID))
		if listing != nil || len(ids) == 0 || ids[len(ids)-1] == runID || resident {
			return errors.Join(err, listing)
		}
	default:
		return err
	}
	if err := first(); err != nil {
		return err
	}
	remover, err := safedir.OpenRemover(runsDir(dir))
	if err != nil {
		return fmt.Errorf("cannot remove run %q: %w", runID, err)
	}
	defer remover.Close()
	return removeRun(remover, runID)
}

// CleanVolumes removes the volumes without a folder of their own.
func CleanVolumes(dataDir string) error { return safedir.RemoveIn(dataDir, "host_volumes", "volumes") }

// Used returns the disk usage of a data directory, in bytes.
func Used(dataDir string) (used int64) {
	seen := map[uint64]bool{} // files with several names
	_ = filepath.WalkDir(dataDir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable files do not count
		}
		if info, err := e.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
				seen[stat.Ino] = true
				used += stat.Blocks * 512
			}
		}
		return nil
	})
	return used
}

// removing is the prefix of the name of a run that is being removed.
const removing = ".removing-"

// removeRun removes a run. A half-removed run no longer counts as one.
func removeRun(runs *safedir.Remover, id string) error { return runs.RemoveAs(removing+id, id) }
