package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// retryAfter is how long to wait for the end of what was killed before looking
// again: the system does not report the end of an orphan here.
const retryAfter = 20 * time.Millisecond

// collects: collect reaps.
const collects = true

// AdoptOrphans does nothing: launchd adopts orphans, always.
func AdoptOrphans() bool { return false }

// maybeExited cannot look without reaping, so it says yes.
func maybeExited(int) bool { return true }

// collect reports how a process ended, ok is false while it runs. It is reaped,
// for which the caller holds the reaper's lock.
func collect(child int) (status Status, ok bool) {
	var wait unix.WaitStatus
	var usage unix.Rusage
	for {
		pid, err := unix.Wait4(child, &wait, unix.WNOHANG, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return unknownEnd(err), true
		}
		if pid != child {
			return Status{}, false
		}
		break
	}
	if wait.Signaled() {
		status = killedBy(wait.Signal())
	} else {
		status = exitedWith(wait.ExitStatus())
	}
	status.PeakRSS = maxRSS(usage)
	return status, true
}

// reap: collect has done it.
func reap(int) {}

// reapOrphans: launchd reaps them.
func reapOrphans(int, func(pid int) bool) int { return 0 }
