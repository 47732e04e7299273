package datadir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/safedir"
)

// Run is the directory of a run of a job. It holds the lock of the job's name:
// a job runs only once at a time in a data directory.
type Run struct {
	Dir    string // <data>/jobs/<job>/runs/<run ID>
	jobDir string

	mu   sync.Mutex // guards lock
	lock *os.File
}

// OpenRun creates or opens the directory of a run, and takes the lock of the
// job's name. The error is an *InUseError if a live run holds it.
func OpenRun(dataDir, jobID, runID string) (*Run, error) {
	return openRunOf(dataDir, jobID, runID, "")
}

func openRunOf(dataDir, jobID, runID, stateDir string) (*Run, error) {
	if jobID == "" {
		return nil, errors.New("cannot open a run of a job without ID")
	}
	if !safedir.IsName(runID) || isHidden(runID) {
		return nil, fmt.Errorf("cannot open run %q of job %q: that is not a file name", runID, jobID)
	}
	dataDir, err := safeDataDir(dataDir) // before creating anything
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: RunDir(dataDir, jobID, runID), jobDir: jobDir(dataDir, jobID)}
	if err := safedir.MakePrivate(r.jobDir); err != nil {
		return nil, err
	}
	if r.lock, err = lockJob(r.jobDir, jobID, stateDir); err != nil {
		return nil, err
	}
	err = safedir.MakePrivate(r.allocs())
	if err == nil {
		err = checkDataDir(r.allocs())
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// ReopenRun opens the directory of an interrupted run. The lock, if not nil,
// was inherited from the process that held the lock of the job's name in the
// meantime (see ShareLock); the Run owns it from then on.
func ReopenRun(dir string, lock *os.File) (*Run, error) { return reopenRunOf(dir, lock, "") }

func reopenRunOf(dir string, lock *os.File, stateDir string) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find run %q: %w", dir, err)
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("cannot open run %q: %w", dir, err)
	}
	r := &Run{Dir: dir, jobDir: jobDirOf(dir)}
	if err := checkDataDir(r.allocs()); err != nil {
		return nil, err
	}
	jobID, err := url.PathUnescape(filepath.Base(r.jobDir))
	if err != nil || filepath.Base(filepath.Dir(dir)) != "runs" {
		return nil, fmt.Errorf("cannot open run %q: that is not a directory of a run", dir)
	}
	if lock == nil {
		r.lock, err = lockJob(r.jobDir, jobID, stateDir)
	} else {
		r.lock, err = inheritLock(r.jobDir, jobID, lock)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ShareLock returns another descriptor of the lock of the job's name: the name
// stays locked until both the run and this descriptor, in the process that
// inherits it, are closed.
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

// PortsFile returns the path of the file that remembers the ports of the job's
// runs.
func (r *Run) PortsFile() string { return filepath.Join(r.jobDir, "ports") }

// AllocDir returns the directory of an allocation; Build creates it.
func (r *Run) AllocDir(allocID string) string { return filepath.Join(r.allocs(), allocID) }

func (r *Run) allocs() string { return filepath.Join(r.Dir, "alloc") }

// StickyLink returns the path of the link to the allocation that has the sticky
// data of a group's slot. The link outlives the run, unless the job is a child
// of the run's job.
func (r *Run) StickyLink(jobID, group string, index int) string {
	slot := escape(fmt.Sprintf("%s[%d]", group, index))
	if escape(jobID) == filepath.Base(r.jobDir) {
		return filepath.Join(r.jobDir, "sticky", slot)
	}
	return filepath.Join(r.Dir, "sticky", escape(jobID), slot)
}

// Remove removes the directory of the run, and closes it.
func (r *Run) Remove() error {
	remover, err := safedir.OpenRemover(runsDir(r.jobDir))
	if err == nil {
		err = removeRun(remover, filepath.Base(r.Dir))
		remover.Close()
	}
	if err != nil {
		err = fmt.Errorf("cannot remove run %q: %w", r.Dir, err)
	}
	return errors.Join(err, r.Close())
}

// Leave closes the run without releasing the lock of the job's name for
// processes that have inherited it.
func (r *Run) Leave() error { return r.end((*os.File).Close) }

// Close releases the lock of the job's name. Closing twice is a no-op.
func (r *Run) Close() error { return r.end(unlock) }

func (r *Run) end(give func(lock *os.File) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil
	}
	err := give(r.lock)
	r.lock = nil
	return err
}

// NewRunID returns an ID for a run that starts now, which ends in some random
// bytes. IDs sort by time.
func NewRunID(now time.Time, random io.Reader) string {
	var suffix [2]byte
	_, _ = io.ReadFull(random, suffix[:]) // those of a chance.Source never fail
	return now.UTC().Format(runTime) + "-" + hex.EncodeToString(suffix[:])
}

const runTime = "20060102T150405.000Z"

// RunTime returns when the run with an ID began, and whether the ID is one of
// NewRunID.
func RunTime(id string) (at time.Time, ok bool) {
	began, _, _ := strings.Cut(id, "-")
	at, err := time.Parse(runTime, began)
	return at, err == nil
}

// NewLog creates a file in the data directory for the messages of a run that
// has no directory yet. The caller moves or removes it.
func NewLog(dataDir string) (*os.File, error) {
	dataDir, err := safeDataDir(dataDir)
	if err == nil {
		err = safedir.MakePrivate(dataDir)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dataDir, ".log-*")
	if err != nil {
		return nil, fmt.Errorf("cannot keep the log of a run: %w", err)
	}
	return f, nil
}
