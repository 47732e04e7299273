package process

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestPeakAfterALargeParent checks that memory shared with the parent, which
// the system counts as this program's, does not hide a task's peak.
func TestPeakAfterALargeParent(t *testing.T) {
	own := ownMemoryPeak()
	if own <= 0 || own > 1<<40 {
		t.Fatalf("the peak of this program's memory is %d", own)
	}
	more := unix.Rusage{Maxrss: own>>10 + 64<<10}
	for shadow, want := range map[int64]int64{0: maxRSS(more), own + 1<<30: maxRSS(more), noShadow: 0} {
		if got := (&Process{shadow: shadow}).surePeak(maxRSS(more), ownMemoryPeak); got != want {
			t.Errorf("shadow %d: peak %d, want %d", shadow, got, want)
		}
	}
	if got := (&Process{shadow: own + 1<<30}).surePeak(own/2, ownMemoryPeak); got != 0 {
		t.Errorf("a peak below this program's own is told: %d", got)
	}
}
