package process

import (
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

// Self is this process.
func Self() ID { return identify(os.Getpid()) }

// inOtherSession reports whether a process exists in another session than this
// one's.
func inOtherSession(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != ownSession()
}

// kill kills the process, and no other that got its number since. The error is
// ESRCH when it has ended.
func (p proc) kill() error { return p.signal(syscall.SIGKILL) }

// Running reports whether the process exists and has not ended.
func (id ID) Running() bool {
	p, ok := stat(id.PID)
	return ok && p.ID == id && !p.ended
}

// Ended is closed when a process has ended that is no child of this program,
// as far as the system can tell of that without looking again and again;
// otherwise it is nil.
func (id ID) Ended() <-chan struct{} { return watchEnd(id.PID, id.Running) }

// EndedUnseen is how a process ended whose parent did not tell.
func EndedUnseen(why error) (Status, time.Time) { return unknownEnd(why), time.Now() }
