// Package allocdir makes, locks and removes the directories that a run keeps
// on disk:
//
//	<data>/jobs/<job ID, escaped>/{lock,ports}
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/<alloc ID>/
//	    alloc/{data,logs,tmp}                    shared by the tasks
//	    <task>/{local,tmp,secrets,private}       of one task
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/.staging-<alloc ID>/   the engine's, see Staging
//	<data>/jobs/<job ID, escaped>/sticky/<group>[<index>]   link to an allocation
//	<data>/host_volumes/<source, escaped>/data/  a volume without a folder of its own
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
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Run is the directory of one run of a job. It holds the lock of the job's
// name: a job runs once at a time in a data directory.
type Run struct {
	Dir    string // <data>/jobs/<job>/runs/<run ID>
	jobDir string

	mu   sync.Mutex // guards lock, which anybody may ask for
	lock *os.File
}

// OpenRun makes the directory of a run, or opens it when it exists, and takes
// the lock of the job's name. The error is an *InUseError when a live run
// holds it.
func OpenRun(dataDir, jobID, runID string) (*Run, error) {
	if jobID == "" {
		return nil, errors.New("cannot open a run of a job without ID")
	}
	if !isName(runID) || isHidden(runID) {
		return nil, fmt.Errorf("cannot open run %q of job %q: that is no file name", runID, jobID)
	}
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("cannot find data directory %q: %w", dataDir, err)
	}
	if err := checkDataDir(dataDir); err != nil { // before anything is made
		return nil, err
	}
	r := &Run{Dir: RunDir(dataDir, jobID, runID), jobDir: jobDir(dataDir, jobID)}
	if err := makePrivate(r.jobDir); err != nil {
		return nil, err
	}
	if r.lock, err = lockJob(r.jobDir, jobID); err != nil {
		return nil, err
	}
	err = makePrivate(r.allocs())
	if err == nil {
		err = checkDataDir(r.allocs())
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// ReopenRun opens the directory of a run that was interrupted. The lock, unless
// it is nil, was inherited from whoever held the lock of the job's name
// meanwhile (see ShareLock), and belongs to the Run from now on.
func ReopenRun(dir string, lock *os.File) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find run %q: %w", dir, err)
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("cannot open run %q: %w", dir, err)
	}
	r := &Run{Dir: dir, jobDir: filepath.Dir(filepath.Dir(dir))}
	if err := checkDataDir(r.allocs()); err != nil {
		return nil, err
	}
	jobID, err := url.PathUnescape(filepath.Base(r.jobDir))
	if err != nil || filepath.Base(filepath.Dir(dir)) != "runs" {
		return nil, fmt.Errorf("cannot open run %q: that is no directory of a run", dir)
	}
	if lock == nil {
		r.lock, err = lockJob(r.jobDir, jobID)
	} else {
		r.lock, err = inheritLock(r.jobDir, jobID, lock)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ShareLock returns another descriptor of the lock of the job's name: the name
// is locked until the run is closed and this one is as well, by whoever has
// inherited it.
func (r *Run) ShareLock() (*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil, fmt.Errorf("cannot share the lock of a run: %w", os.ErrClosed)
	}
	fd, err := unix.FcntlInt(r.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot share the lock of a run: %w", err)
	}
	return os.NewFile(uintptr(fd), r.lock.Name()), nil
}

// PortsFile is where the ports of the job's runs are remembered.
func (r *Run) PortsFile() string { return filepath.Join(r.jobDir, "ports") }

// AllocDir is the directory of an allocation; Build makes it.
func (r *Run) AllocDir(allocID string) string { return filepath.Join(r.allocs(), allocID) }

func (r *Run) allocs() string { return filepath.Join(r.Dir, "alloc") }

// Leave closes the run without giving up the lock of the job's name, for those
// that have inherited it. Without any it is given up all the same.
func (r *Run) Leave() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil
	}
	err := r.lock.Close()
	r.lock = nil
	return err
}

// Close releases the lock of the job's name. Closing twice does nothing.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil
	}
	err := unlock(r.lock)
	r.lock = nil
	return err
}

// NewRunID returns an ID for a run that starts now. IDs sort by time.
func NewRunID(now time.Time) string {
	var suffix [2]byte
	_, _ = rand.Read(suffix[:]) // never fails
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(suffix[:])
}
