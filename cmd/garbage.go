package cmd

import (
	"runtime/debug"
	"sync"
	"time"
)

// usualGarbage is the percentage of the garbage collector before
// collectRarely; see debug.SetGCPercent.
var usualGarbage = 100

// collectRarely makes the garbage collector wait until the heap is five times
// of what lives, for as long as little does: in a command that ends as soon as
// it has read its files, or passes a stream on, and in the first second of a run.
func collectRarely() { usualGarbage = debug.SetGCPercent(400) }

// collectAsUsual ends what collectRarely has begun.
var collectAsUsual = sync.OnceFunc(func() { debug.SetGCPercent(usualGarbage) })

// quietTime is how long no task has begun to run when a run gives back
// what that took. A thousand starts leave half of the memory as garbage, which
// nothing would collect while the tasks just run.
const quietTime = time.Second
