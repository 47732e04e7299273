package cmd

import (
	"runtime/debug"
	"sync"
)

// usualGarbage is the percentage of the garbage collector before
// collectRarely; see debug.SetGCPercent.
var usualGarbage = 100

// collectRarely makes the garbage collector wait until the heap is five times
// of what lives, for as long as little does: in a command that ends as soon as
// it has read its files, or passes a stream on, and in up until a task runs.
func collectRarely() { usualGarbage = debug.SetGCPercent(400) }

// collectAsUsual ends what collectRarely has begun.
var collectAsUsual = sync.OnceFunc(func() { debug.SetGCPercent(usualGarbage) })
