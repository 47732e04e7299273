package process

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sys/unix"
)

// ID identifies a process until the machine reboots. The PID alone does not,
// because PIDs are reused.
type ID struct {
	PID int `json:"pid"`
	// Start is the start time in the system's own unit: clock ticks since boot
	// on Linux, microseconds since 1970 on macOS.
	Start uint64 `json:"start"`
}

// proc is the system's information about a process at one moment.
type proc struct {
	ID
	ppid    int
	session int
	ended   bool // or about to end, but not reaped
}

// parentIn returns the parent of the process in a table. A process that began after
// its child is not the parent: it got the PID while the table was read.
func (p proc) parentIn(all map[int]proc) (parent proc, ok bool) {
	parent, ok = all[p.ppid]
	return parent, ok && parent.Start <= p.Start
}

// shown makes text from a process safe for a terminal: a single line without
// control characters.
func shown(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case r == 0 || unicode.IsSpace(r):
			return ' '
		default:
			return '?'
		}
	}, text))
}

var ownSession = sync.OnceValue(func() int {
	session, _ := unix.Getsid(0)
	return session
})

func childrenByTable(all map[int]proc, pid int) (pids []int) {
	for _, p := range all {
		if p.ppid == pid {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
