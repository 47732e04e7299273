package cmd

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// usualGarbage is the percentage that the garbage collector used before
// collectRarely; see debug.SetGCPercent.
var usualGarbage = 100

// collectRarely lets the heap grow to five times its live size before a
// collection. It is for times when little is live: commands that end once they
// have read their files or passed on a stream, and the first second of a run.
func collectRarely() { usualGarbage = debug.SetGCPercent(400) }

// collectAsUsual undoes collectRarely.
var collectAsUsual = sync.OnceFunc(func() { debug.SetGCPercent(usualGarbage) })

// quietTime is how long no task has started before a run returns unused memory
// to the system. A thousand starts leave half of the memory as garbage, and
// while tasks only run nothing would collect it.
const quietTime = time.Second

// A tidier returns unused memory to the system once nothing has happened for
// quietTime, if there is enough of it. Nothing else does that for a program that
// only waits.
type tidier struct {
	timer *time.Timer
	left  uint64 // bytes in use after the last time; only release uses it
}

// worthTidying is how many bytes more than after the last time must be in use.
const worthTidying = 1 << 20

func newTidier() *tidier {
	t := &tidier{}
	t.timer = time.AfterFunc(quietTime, t.release)
	return t
}

// busy puts the release off: something has happened.
func (t *tidier) busy() { t.timer.Reset(quietTime) }

func (t *tidier) stop() { t.timer.Stop() }

func (t *tidier) release() {
	if inUse() < t.left+worthTidying {
		return
	}
	runtime.GC() // halves the stacks that are too large; FreeOSMemory halves them again
	debug.FreeOSMemory()
	t.left = inUse()
}

// inUse returns the memory of the Go runtime that the system has to provide.
func inUse() uint64 {
	sizes := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sizes)
	return sizes[0].Value.Uint64() - sizes[1].Value.Uint64()
}
