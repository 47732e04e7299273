package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// retryAfter is how long to wait for killed processes before scanning again:
// macOS does not report the end of an orphan.
const retryAfter = 20 * time.Millisecond

// collects is true: collect reaps.
const collects = true

// AdoptOrphans does nothing: launchd always adopts orphans.
func AdoptOrphans() bool { return false }

// maybeExited returns true: it cannot look without reaping.
func maybeExited(int) bool { return true }

// collect returns how a process ended; ok is false while it is running. It
// reaps the process. The caller must hold the reaper's lock.
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
		status.ExitCode = wait.ExitStatus()
	}
	status.PeakRSS = maxRSS(usage)
	return status, true
}

// reap does nothing: collect has reaped the process.
func reap(int) {}

// reapOrphans does nothing: launchd reaps them.
func reapOrphans(int, func(pid int) bool) int { return 0 }
