package process

import (
	"fmt"
	"math"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Status is how a process ended.
type Status struct {
	ExitCode int   // 128+n if it was killed by signal n, -1 if unknown
	Signal   int   // 0 for none
	Err      error `json:"-"` // why it is unknown

	// PeakRSS is the highest resident memory, in bytes, of the process or of
	// one that it waited for; 0 if unknown.
	PeakRSS int64
}

func killedBy(sig syscall.Signal) Status {
	return Status{ExitCode: 128 + int(sig), Signal: int(sig)}
}

// unknownEnd returns the status of a child that the system does not know.
func unknownEnd(err error) Status {
	return Status{ExitCode: -1, Err: fmt.Errorf("cannot find out how the process ended: %w", err)}
}

// ownPeakRSS returns this program's own peak, in bytes.
func ownPeakRSS() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return maxRSS(usage)
}

// maxRSS returns ru_maxrss in bytes, the unit of macOS; Linux uses KiB.
func maxRSS(usage unix.Rusage) int64 {
	if runtime.GOOS == "linux" {
		return usage.Maxrss << 10
	}
	return usage.Maxrss
}

// noShadow is the shadow of a process if the shared memory is unknown.
const noShadow = math.MaxInt64
