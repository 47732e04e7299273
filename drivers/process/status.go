package process

import (
	"fmt"
	"math"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Status reports how a process ended.
type Status struct {
	ExitCode int   // 128+n when it was killed by signal n, -1 when unknown
	Signal   int   // 0 for none
	Err      error `json:"-"` // why it is unknown

	// PeakRSS is the most resident memory, in bytes, that the process or one
	// that it waited for had; 0 when unknown.
	PeakRSS int64
}

func exitedWith(code int) Status { return Status{ExitCode: code} }

func killedBy(sig syscall.Signal) Status {
	return Status{ExitCode: 128 + int(sig), Signal: int(sig)}
}

// unknownEnd is the status of a child that the system does not know.
func unknownEnd(err error) Status {
	return Status{ExitCode: -1, Err: fmt.Errorf("cannot learn how the process ended: %w", err)}
}

// ownPeakRSS is this program's own peak, in bytes.
func ownPeakRSS() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return maxRSS(usage)
}

// maxRSS returns ru_maxrss in bytes, in which macOS counts; Linux counts KiB.
func maxRSS(usage unix.Rusage) int64 {
	if runtime.GOOS == "linux" {
		return usage.Maxrss << 10
	}
	return usage.Maxrss
}

// noShadow is the shadow of a process whose shared memory is unknown.
const noShadow = math.MaxInt64
