package cmd

import (
	"runtime/debug"
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
