package datadir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// ErrInUse matches every *InUseError.
var ErrInUse = errors.New("the job is running")

// InUseError reports that a live run holds the lock of a job's name.
type InUseError struct {
	JobID string
	PID   int // of the holder; 0 if unknown
}

func (e *InUseError) Error() string {
	text := fmt.Sprintf("job %q is running", strings.Replace(e.JobID, " ", "@", 1)) // a key, as users name the job
	if e.PID == 0 {
		return text
	}
	return fmt.Sprintf("%s: process %d", text, e.PID)
}

// Is implements errors.Is for ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// lockFile is the name of a lock in its directory.
const lockFile = "lock"

// lockJob takes the lock of a job's name, unless the job is one of a resident
// engine other than that with the state directory own, which may be empty.
func lockJob(jobDir, jobID, own string) (*os.File, error) {
	f, err := flockDir(jobDir, jobID)
	if err != nil {
		return nil, err
	}
	if err := checkResidents(jobDir, jobID, own); err != nil {
		return nil, errors.Join(err, unlock(f))
	}
	return f, nil
}

// flockDir takes the lock in a directory and writes this process's PID into it.
// The kernel releases it when the process dies.
func flockDir(dir, jobID string) (*os.File, error) {
	name := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock job %q: %w", jobID, err)
	}
	if err = runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		writePID(f, os.Getpid())
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &InUseError{JobID: jobID, PID: readPID(f)}
	} else {
		err = fmt.Errorf("cannot lock job %q: %q: %w", jobID, name, err)
	}
	return nil, errors.Join(err, f.Close())
}

// inheritLock takes over the lock of a job's name from the process that opened
// the file: the kernel does not distinguish the two.
func inheritLock(jobDir, jobID string, f *os.File) (*os.File, error) {
	name := filepath.Join(jobDir, lockFile)
	err := sameFile(name, f)
	if err == nil {
		err = runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take over the lock of job %q: %q: %w", jobID, name, err)
	}
	writePID(f, os.Getpid())
	return f, nil
}

func sameFile(name string, f *os.File) error {
	want, err := os.Stat(name)
	if err != nil {
		return err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(want, got) {
		err = errors.New("another file was inherited")
	}
	return err
}

// unlock releases the lock. Closing the file is not enough: a process that is
// just being forked has it open as well.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), runtimedir.Flock(f, unix.LOCK_UN), f.Close())
}

// writePID writes the PID of its holder into the lock, for error messages. On a
// full disk it writes nothing.
func writePID(f *os.File, pid int) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
	}
}

// readPID returns 0 if the holder has not written its PID.
func readPID(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
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
