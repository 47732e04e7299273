// Package allocdir makes, locks and removes the directories that a run keeps
// on disk:
//
//	<data>/jobs/<job ID, escaped>/{lock,ports}
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/<alloc ID>/
//	    alloc/{data,logs,tmp}                    shared by the tasks
//	    <task>/{local,tmp,secrets,private}       of one task
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/.staging-<alloc ID>/   the engine's, see Staging
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/.times-<alloc ID>/     the engine's, see TimesOf
//	<data>/jobs/<job ID, escaped>/sticky/<group>[<index>]   link to an allocation
//	<data>/host_volumes/<source, escaped>/data/  a volume without a folder of its own
//
// Inside an allocation the names are Nomad's
// (https://developer.hashicorp.com/nomad/docs/concepts/filesystem), and the modes
// as far as that is safe: modes.go has the whole table.
//
// # Hostile tasks and users
//
// Everyone but root and the user who runs taskrun is an adversary: other local
// users, and tasks that run as another user. The directories from the root down
// to that of a run's allocations are checked when a run is opened; nobody else
// can replace one of them afterwards. Below, a [Dir] owns the descriptors. It
// opens what the engine uses before the first task that could replace it, and
// refuses links and FIFOs in the place of a directory.
//
// These races remain between a check and the use of what was checked:
//
//   - A task's user may change what is below its own directories at any time,
//     also while the engine works there: os.Root keeps the engine inside the
//     task's directory, but which file of the task it meets there is up to the
//     task.
//   - A command is looked for, and then started, by its path. Only its user,
//     root and the user who runs taskrun can change what is there meanwhile.
//   - On a file system without ACLs the user of all tasks owns the directory of
//     the allocation. It can replace what is in it, alloc/logs too: the engine
//     goes on with what it had opened, and an engine that takes up the run
//     refuses a directory that is not its own.
//   - A volume that taskrun.hcl gives a folder is used by its path.
//   - Whether nobody else can enter a directory is read from its mode and ACL; a
//     process that has it open from before is not seen.
package allocdir

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
	if !isName(runID) || isHidden(runID) {
		return nil, fmt.Errorf("cannot open run %q of job %q: that is not a file name", runID, jobID)
	}
	dataDir, err := safeDataDir(dataDir) // before creating anything
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: RunDir(dataDir, jobID, runID), jobDir: jobDir(dataDir, jobID)}
	if err := makePrivate(r.jobDir); err != nil {
		return nil, err
	}
	if r.lock, err = lockJob(r.jobDir, jobID, stateDir); err != nil {
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

// Remove removes the directory of the run, and closes it.
func (r *Run) Remove() error {
	remover, err := newRemover(runsDir(r.jobDir))
	if err == nil {
		err = remover.removeRun(filepath.Base(r.Dir))
		remover.close()
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
		err = makePrivate(dataDir)
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
