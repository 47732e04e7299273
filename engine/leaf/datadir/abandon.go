package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/allocdir"
)

// RecoveryDir is the directory in a run's directory with the state for a later
// engine.
const RecoveryDir = "recovery"

// Abandon cleans up after a run whose program was killed: it removes the
// secrets of every allocation, the state for a later engine, the pipes of its
// tasks' output, and the program's PID from the lock of the job's name. No
// process of the run may be left.
func Abandon(runDir string, pid int) error {
	allocs, err := subdirs(filepath.Join(runDir, "alloc"))
	errs := []error{err}
	for _, id := range allocs {
		dir := allocdir.At(filepath.Join(runDir, "alloc", id))
		errs = append(errs, dir.RemoveSecrets(), dir.RemovePipes(), dir.Close())
	}
	// No engine will continue the run, and it contains the environment of
	// tasks.
	errs = append(errs, os.RemoveAll(filepath.Join(runDir, RecoveryDir)), os.RemoveAll(filepath.Join(runDir, residentFile)))
	return errors.Join(append(errs, emptyLock(jobDirOf(runDir), pid))...)
}

// Interrupt cleans up after a run whose program was killed, and which a later one
// continues: it removes only the program's PID from the lock of the job's name.
func Interrupt(runDir string, pid int) error { return emptyLock(jobDirOf(runDir), pid) }

// emptyLock does not take the lock, because a new run that wants it at this
// moment would be refused. Such a run has written its own PID, which stays.
func emptyLock(jobDir string, pid int) error {
	f, err := os.OpenFile(filepath.Join(jobDir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if readPID(f) == pid {
		err = f.Truncate(0)
	}
	return errors.Join(err, f.Close())
}
