package process

// procID names one process for all time: numbers are used again.
type procID struct {
	pid   int
	start uint64 // when it started, in the system's own unit
}

// proc is what the system says of a process at one moment.
type proc struct {
	procID
	ppid    int
	session int
	ended   bool // or just ending, but not reaped
}
