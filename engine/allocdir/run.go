// Package allocdir makes, locks and removes the directories that a run keeps
// on disk:
//
//	<data>/jobs/<job ID, escaped>/lock
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/<alloc ID>/
//	    alloc/{data,logs,tmp}                    shared by the tasks
//	    <task>/{local,tmp,secrets,private}       of one task
//
// Inside an allocation the names and modes are Nomad's
// (https://developer.hashicorp.com/nomad/docs/concepts/filesystem), except that
// secrets and private are plain directories of mode 0700.
package allocdir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Run is the directory of one run of a job. It holds the lock of the job's
// name: a job runs once at a time in a data directory.
type Run struct {
	Dir    string // <data>/jobs/<job>/runs/<run ID>
	jobDir string
	id     string
	lock   *os.File
}

// OpenRun makes the directory of a run, or opens it when it exists, and takes
// the lock of the job's name. The error is an *InUseError when a live run
// holds it.
func OpenRun(dataDir, jobID, runID string) (*Run, error) {
	if jobID == "" {
		return nil, errors.New("cannot open a run of a job without ID")
	}
	if !isName(runID) {
		return nil, fmt.Errorf("cannot open run %q of job %q: that is no file name", runID, jobID)
	}
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("cannot find data directory %q: %w", dataDir, err)
	}
	r := &Run{jobDir: jobDir(dataDir, jobID), id: runID}
	r.Dir = filepath.Join(r.runsDir(), runID)
	if err := makePrivate(r.jobDir); err != nil {
		return nil, err
	}
	if r.lock, err = lockJob(r.jobDir, jobID); err != nil {
		return nil, err
	}
	if err := makePrivate(filepath.Join(r.Dir, "alloc")); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// AllocDir is the directory of an allocation; Build makes it.
func (r *Run) AllocDir(allocID string) string { return filepath.Join(r.Dir, "alloc", allocID) }

// Close releases the lock of the job's name. Closing twice does nothing.
func (r *Run) Close() error {
	if r.lock == nil {
		return nil
	}
	err := unlock(r.lock)
	r.lock = nil
	return err
}

func (r *Run) runsDir() string { return filepath.Join(r.jobDir, "runs") }

// NewRunID returns an ID for a run that starts now. IDs sort by time.
func NewRunID(now time.Time) string {
	var suffix [2]byte
	_, _ = rand.Read(suffix[:]) // never fails
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(suffix[:])
}

// isName reports whether s can be the name of one visible file.
func isName(s string) bool {
	return s != "" && s[0] != '.' && !strings.ContainsAny(s, "/\x00")
}

// makePrivate makes a directory and those above it for the user alone. Root's
// can be passed through by others: a task may run as another user.
func makePrivate(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := makeAll(dir, mode); err != nil {
		return fmt.Errorf("cannot make directory %q: %w", dir, err)
	}
	return nil
}

func makeAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := makeAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if err == nil {
		return os.Chmod(dir, mode) // whatever the umask
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if info.IsDir() {
			return nil
		}
		return fmt.Errorf("%q is in the way: it is no directory", dir)
	}
	return err
}
