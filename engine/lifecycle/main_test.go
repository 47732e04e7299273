package lifecycle

import (
	"runtime/debug"
	"testing"
)

// TestMain makes collections of garbage rare: a hundred thousand short lives in a
// small heap spend a quarter of their time on them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}
