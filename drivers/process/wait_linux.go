package process

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// retryAfter is how long to wait for killed processes before scanning again.
// Usually a SIGCHLD arrives first.
const retryAfter = time.Second

// collects is false: collect does not reap.
const collects = false

// AdoptOrphans makes this program adopt orphans among all its descendants, if
// the system supports that, and reports whether it does.
func AdoptOrphans() bool {
	// Cannot fail since Linux 3.4.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return true
}

// childInfo is siginfo_t as waitid(2) fills it in.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0))/4 - 1]int32 // aligns what follows
	pid                int32
	uid                uint32
	status             int32
}

// Values of childInfo.code for a death by signal; see sigaction(2).
const (
	cldKilled = 2
	cldDumped = 3
)

// waitable finds a child that has ended, without reaping it; its PID is 0 if
// there is none. The error is ECHILD if there is no matching child at all.
func waitable(idType, id int, usage *unix.Rusage) (childInfo, error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, usage)
		if !errors.Is(err, unix.EINTR) {
			return *(*childInfo)(unsafe.Pointer(&info)), err
		}
	}
}

// maybeExited reports whether a child has ended.
func maybeExited(pid int) bool {
	info, err := waitable(unix.P_PID, pid, nil)
	return err != nil || info.pid != 0
}

// collect returns how a process ended; ok is false while it is running. It does
// not reap the process.
func collect(pid int) (status Status, ok bool) {
	var usage unix.Rusage
	info, err := waitable(unix.P_PID, pid, &usage)
	switch {
	case err != nil:
		return unknownEnd(err), true
	case info.pid == 0:
		return Status{}, false
	case info.code == cldKilled || info.code == cldDumped:
		status = killedBy(syscall.Signal(info.status))
	default:
		status.ExitCode = int(info.status)
	}
	status.PeakRSS = maxRSS(usage)
	return status, true
}

// reap releases the PID of a process that has ended.
func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reapOrphans reaps adopted children that have ended and returns their number.
// For keeper see strays.
func reapOrphans(keeper int, isOrphan func(pid int) bool) (reaped int) {
	for {
		child, err := waitable(unix.P_ALL, 0, nil)
		if err != nil || child.pid == 0 {
			return reaped
		}
		if !isOrphan(int(child.pid)) {
			break // it hides those behind it
		}
		reap(int(child.pid))
		reaped++
	}
	for _, pid := range strays(keeper) {
		if child, err := waitable(unix.P_PID, pid, nil); err == nil && child.pid != 0 && isOrphan(pid) {
			reap(pid)
			reaped++
		}
	}
	return reaped
}
