package process

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// surePeak returns the peak that the system has counted for a process, in bytes,
// if it is sure to be its own. Until it executes its program a new process
// shares this program's memory, and Linux counts that as well: a peak that is
// not clearly higher than this program's own, the shadow, tells nothing, and
// is 0.
//
// What the system says of this program's own peak includes what it shared in
// turn before it was executed, with whoever started it, which may be large. That
// of its memory alone takes longer to learn.
func (p *Process) surePeak(peak int64, ownMemoryPeak func() int64) int64 {
	if p.shadow == noShadow {
		return 0
	}
	if peak -= inexact; peak > p.shadow || peak > ownMemoryPeak() {
		return peak + inexact
	}
	return 0
}

// inexact is by how much peaks that are equal may differ, in bytes: each
// processor counts some pages for itself before Linux adds them up.
var inexact = int64(min(runtime.NumCPU(), 16)) << 20

// noShadow is the shadow of a process of which nobody knows what it shared.
const noShadow = math.MaxInt64

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
