package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Clean removes the oldest runs of a job that does not run until keep are left,
// and of these what only a live run needs: secrets, pipes, and its state. With
// keep 0 it also forgets the ports and the sticky directories of the job. The
// error is an *InUseError when the job runs.
//
// Before that, when the job is locked, first removes what is elsewhere. After
// an error of it the directories stay, for something may still use them.
func Clean(dataDir, jobID string, keep int, first func() error) error {
	dir := jobDir(dataDir, jobID)
	lock, err := lockJob(dir, jobID)
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

// CleanVolumes removes the volumes that have no folder of their own.
func CleanVolumes(dataDir string) error {
	r, err := newRemover(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove volumes: %w", err)
	}
	defer r.close()
	return errors.Join(r.remove("host_volumes"), r.remove("volumes"))
}

// Used is how much of the disk a data directory takes, in bytes.
func Used(dataDir string) (used int64) {
	seen := map[uint64]bool{} // files with several names
	_ = filepath.WalkDir(dataDir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be looked at does not count
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
