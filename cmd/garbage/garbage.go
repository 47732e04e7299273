// Package garbage says when the garbage collector of this process works, and returns
// unused memory to the system.
package garbage

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// usualGarbage is the percentage that the garbage collector used before
// CollectRarely; see debug.SetGCPercent.
var usualGarbage = 100

// CollectRarely lets the heap grow to five times its live size before a
// collection. It is for times when little is live: commands that end once they
// have read their files or passed on a stream, and the first second of a run.
func CollectRarely() { usualGarbage = debug.SetGCPercent(400) }

// CollectAsUsual undoes CollectRarely.
func CollectAsUsual() { debug.SetGCPercent(usualGarbage) }

// QuietTime is how long no task has started before a run returns unused memory
// to the system. A thousand starts leave half of the memory as garbage, and
// while tasks only run nothing would collect it.
const QuietTime = time.Second

// A Tidier returns unused memory to the system once nothing has happened for
// QuietTime, if there is enough of it. Nothing else does that for a program that
// only waits.
type Tidier struct {
	timer *time.Timer
	mu    sync.Mutex // held by release: the timer may fire again before it has returned
	left  uint64     // bytes in use after the last time
}

// worthTidying is how many bytes more than after the last time must be in use.
const worthTidying = 1 << 20

// NewTidier returns a tidier that begins to wait.
func NewTidier() *Tidier {
	t := &Tidier{}
	t.timer = time.AfterFunc(QuietTime, t.release)
	return t
}

// Busy puts the release off: something has happened.
func (t *Tidier) Busy() { t.timer.Reset(QuietTime) }

// Stop ends the tidier.
func (t *Tidier) Stop() { t.timer.Stop() }

func (t *Tidier) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if inUse() < t.left+worthTidying {
		return
	}
	runtime.GC() // halves the stacks that are too large; FreeOSMemory halves them again
	debug.FreeOSMemory()
	t.left = inUse()
}

// inUse returns the memory of the Go runtime that the system has to provide.
func inUse() uint64 {
	var sizes runtime.MemStats
	runtime.ReadMemStats(&sizes)
	return sizes.Sys - sizes.HeapReleased
}
