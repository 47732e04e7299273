package process

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// identify returns the ID of a process that has not been reaped.
func identify(pid int) ID {
	p, _ := stat(pid)
	return ID{PID: pid, Start: p.Start}
}

// Self returns the ID of this process.
func Self() ID { return identify(os.Getpid()) }

// Identify returns the ID of a running process.
func Identify(pid int) (ID, error) {
	if p, ok := stat(pid); ok && !p.ended {
		return p.ID, nil
	}
	return ID{}, fmt.Errorf("there is no process %d", pid)
}

// inOtherSession reports whether a process exists in a session other than this
// one's.
func inOtherSession(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != ownSession()
}

// kill kills the process, but never another one that has its PID by now. The
// error is ESRCH if the process has ended.
func (p proc) kill() error { return p.signal(syscall.SIGKILL) }

// Running reports whether the process exists and has not ended.
func (id ID) Running() bool {
	p, ok := stat(id.PID)
	return ok && p.ID == id && !p.ended
}

// Ended returns a channel that is closed when a process that is not a child of
// this program has ended. It is nil if the system cannot report that without
// polling.
func (id ID) Ended() <-chan struct{} { return watchEnd(id.PID, id.Running) }

// EndedUnseen returns the status of a process whose parent did not report its
// end.
func EndedUnseen(why error) (Status, time.Time) { return unknownEnd(why), time.Now() }
