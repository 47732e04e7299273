package process

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ID names one process for all time until the machine starts anew: numbers are
// used again.
type ID struct {
	PID int `json:"pid"`
	// Start is when it started, in the system's own unit: on Linux clock ticks
	// since the machine started, on darwin microseconds since 1970.
	Start uint64 `json:"start"`
}

// proc is what the system says of a process at one moment.
type proc struct {
	ID
	ppid    int
	session int
	ended   bool // or just ending, but not reaped
}

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

var ownSession = sync.OnceValue(func() int {
	session, _ := unix.Getsid(0)
	return session
})

// kill kills the process, and no other that got its number since. The error is
// ESRCH when it has ended.
func (p proc) kill() error { return p.signal(syscall.SIGKILL) }
