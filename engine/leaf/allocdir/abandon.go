package allocdir

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// RecoveryDir is the directory, in that of a run, with the state from which the
// run can be resumed.
const RecoveryDir = "recovery"

// Abandon does for a run whose program was killed what that program would have
// done at the end: it removes the secrets of every allocation, what the run could
// be taken up with, the pipes of its
// tasks' output, and the program's number, pid, from the lock of the job's name.
// No process of the run may be left.
func Abandon(runDir string, pid int) error {
	allocs, err := subdirs(filepath.Join(runDir, "alloc"))
	errs := []error{err}
	for _, id := range allocs {
		dir := At(filepath.Join(runDir, "alloc", id))
		errs = append(errs, dir.RemoveSecrets(), dir.removePipes(), dir.Close())
	}
	// Nobody will take the run up again, and the environment of tasks is in it.
	errs = append(errs, os.RemoveAll(filepath.Join(runDir, RecoveryDir)))
	return errors.Join(append(errs, emptyLock(jobDirOf(runDir), pid))...)
}

func (d *Dir) removePipes() error {
	logs, err := d.Logs()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(logs.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if e.Type() == fs.ModeNamedPipe {
			errs = append(errs, logs.Remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// emptyLock does not take the lock, for a new run that wants it at this moment
// would be refused. Such a run has written its own number, which stays.
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

// JobOf returns the ID of the job that a run's directory belongs to.
func JobOf(runDir string) string {
	name := filepath.Base(jobDirOf(runDir))
	if id, err := url.PathUnescape(name); err == nil {
		return id
	}
	return name
}

func jobDirOf(runDir string) string { return filepath.Dir(filepath.Dir(runDir)) }
