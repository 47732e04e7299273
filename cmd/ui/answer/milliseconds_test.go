package answer

import (
	"testing"
	"time"
)

// The start of a run has a time; missing times are left out.
func TestMilliseconds(t *testing.T) {
	t.Parallel()
	if got := milliseconds(0); got == nil || *got != 0 {
		t.Errorf("at the start: %v", got)
	}
	if got := milliseconds(1500 * time.Microsecond); got == nil || *got != 1 {
		t.Errorf("after 1.5 ms: %v", got)
	}
	if got := milliseconds(-1); got != nil {
		t.Errorf("at an unknown time: %d", *got)
	}
}
