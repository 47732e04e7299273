package process

import "os"

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
