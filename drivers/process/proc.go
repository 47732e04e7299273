package process

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sys/unix"
)

// ID identifies a process until the machine reboots. The number alone does not:
// numbers are used again.
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

// shown is text that a process chose, for a terminal: one line that commands
// nothing.
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
