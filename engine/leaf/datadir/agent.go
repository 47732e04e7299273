package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
	"taskrun/engine/leaf/safedir"
)

// Agent is the directory of the agent of a data directory, which it locks: there
// is one agent in each.
//
//	<data>/agent/{lock,format,…}
type Agent struct {
	Dir  string
	lock *os.File
}

// ErrAgent matches every *AgentError.
var ErrAgent = errors.New("an agent has this data directory")

// AgentError reports that another agent has a data directory.
type AgentError struct {
	DataDir string
	PID     int // 0 if unknown
}

func (e *AgentError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another agent has data directory %q", e.DataDir)
	}
	return fmt.Sprintf("another agent has data directory %q: process %d", e.DataDir, e.PID)
}

// Is implements errors.Is for ErrAgent.
func (e *AgentError) Is(target error) bool { return target == ErrAgent }

// agentFormat is the version of the files in an agent's data directory.
const agentFormat = 1

// OpenAgent creates or opens the directory of an agent. The lock, if not nil, was
// inherited from an earlier agent (see Lock). The error is an *AgentError if
// another agent has the directory, also after a short wait.
func OpenAgent(dataDir string, lock *os.File) (*Agent, error) {
	dataDir, err := safeDataDir(dataDir) // before creating anything
	if err == nil {
		err = safedir.MakePrivate(dataDir)
	}
	if err != nil {
		return nil, err
	}
	a := &Agent{Dir: agentDir(dataDir), lock: lock}
	if err = os.Mkdir(a.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := checkDataDir(a.Dir); err != nil {
		return nil, err
	}
	if err = a.take(dataDir); err == nil {
		err = a.checkFormat()
	}
	if err != nil && a.lock != nil {
		err = errors.Join(err, a.Close())
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func agentDir(dataDir string) string { return filepath.Join(dataDir, "agent") }

// take takes the lock.
func (a *Agent) take(dataDir string) (err error) {
	name := filepath.Join(a.Dir, "lock")
	if a.lock != nil {
		if err := sameFile(name, a.lock); err != nil {
			return fmt.Errorf("cannot take over the lock of an agent: %q: %w", name, err)
		}
	}
	f := a.lock
	if f == nil {
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return fmt.Errorf("cannot lock data directory %q: %w", dataDir, err)
		}
	}
	err = flockPatiently(f)
	switch {
	case err == nil:
		writePID(f, os.Getpid())
		a.lock = f
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		err = &AgentError{DataDir: dataDir, PID: readPID(f)}
	default:
		err = fmt.Errorf("cannot lock data directory %q: %w", dataDir, err)
	}
	a.lock = nil
	return errors.Join(err, f.Close())
}

// An agent that was killed holds its lock until its last thread, and a task that
// it was forking, have let go of it, and its keeper holds it until it has cleaned
// up. A program that only looks at the lock holds it for a moment.
const (
	lockPatience  = time.Second
	cleanPatience = 10 * time.Second // if the agent is dead
	lockPause     = 5 * time.Millisecond
)

// flockPatiently waits for a lock for at most cleanPatience, or lockPatience if its
// holder is alive or unknown.
func flockPatiently(f *os.File) (err error) {
	for began := time.Now(); ; time.Sleep(lockPause) { //nolint:forbidigo // flock(2) has no timeout, and the wait is short
		err = runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB)
		waited := time.Since(began)
		if !errors.Is(err, unix.EWOULDBLOCK) || waited > cleanPatience ||
			waited > lockPatience && !errors.Is(unix.Kill(readPID(f), 0), unix.ESRCH) {
			return err
		}
	}
}

// checkFormat refuses the state of a later version of taskrun.
func (a *Agent) checkFormat() error {
	name := filepath.Join(a.Dir, "format")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(name, []byte(strconv.Itoa(agentFormat)+"\n"), 0o600)
	}
	if err != nil {
		return err
	}
	format, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil && format > agentFormat {
		return fmt.Errorf("a later version of taskrun wrote the state in %q: format %d, this version knows %d", a.Dir, format, agentFormat)
	}
	return nil // an unreadable number may be the rest of a write that was cut off
}

// Lock is the file of the lock. A process that inherits it keeps other agents out
// while no agent runs, and passes it to the next one.
func (a *Agent) Lock() *os.File { return a.lock }

// Leave closes the directory and leaves the lock to a keeper that has inherited
// it, until the next agent gets it from there.
func (a *Agent) Leave(keeper int) error {
	lock := a.lock
	a.lock = nil
	writePID(lock, keeper)
	return lock.Close()
}

// Path returns the path of a file of the agent.
func (a *Agent) Path(name string) string { return filepath.Join(a.Dir, name) }

// Close releases the lock, unless it was left to a keeper.
func (a *Agent) Close() error {
	if a.lock == nil {
		return nil
	}
	return unlock(a.lock)
}

// AgentHolds reports whether an agent, or its keeper, has a data directory, and
// the agent's PID if that is known.
func AgentHolds(dataDir string) (pid int, holds bool) { return holder(agentDir(dataDir)) }

// ClaimRuns locks the data directories of agents that were killed, so that no
// other agent continues their runs before the locks are closed. It returns the runs
// that none continues already.
func ClaimRuns(runDirs []string) (free []string, locks []*os.File) {
	open := map[string]bool{} // by state directory: no agent has it
	for _, dir := range runDirs {
		stateDir, ok := residentOf(dir)
		if _, known := open[stateDir]; ok && !known {
			f, err := claim(stateDir)
			if open[stateDir] = !errors.Is(err, unix.EWOULDBLOCK); err == nil {
				locks = append(locks, f)
			}
		}
		if !ok || open[stateDir] {
			free = append(free, dir)
		}
	}
	return free, locks
}

// claim locks a state directory. The error is EWOULDBLOCK if an agent has it.
func claim(stateDir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(stateDir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
