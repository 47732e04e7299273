package bubble

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Goroutine is a goroutine of a bubble, as the runtime describes it.
type Goroutine struct {
	ID    string
	State string // why it waits, "running" or "syscall"
	Stack string // with that as its first line
}

// Durable reports whether only the bubble itself can wake the goroutine.
func (g Goroutine) Durable() bool { return strings.HasSuffix(g.State, "(durable)") }

// Busy reports whether the goroutine is not waiting.
func (g Goroutine) Busy() bool {
	return slices.Contains([]string{"running", "runnable", "syscall", "preempted", "copystack"}, g.State)
}

// At returns the innermost function of this module on the stack of the goroutine
// or, without one, the innermost function.
func (g Goroutine) At() string {
	first := ""
	for line := range strings.Lines(g.Stack) {
		name, isCall := strings.CutSuffix(strings.TrimSpace(line), ")")
		if i := strings.LastIndexByte(name, '('); isCall && i > 0 && !strings.HasPrefix(line, "\t") {
			if name = name[:i]; strings.HasPrefix(name, "taskrun/") || strings.HasPrefix(name, "main.") {
				return name
			}
			first = cmp.Or(first, name)
		}
	}
	return first
}

func (g Goroutine) String() string { return fmt.Sprintf("%s (%s)", g.At(), g.State) }

// header is how the runtime begins the stack of a goroutine.
var header = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^goroutine (\d+) \[([^,\]]+)[^\]]*, synctest bubble (\d+)`)
})

// current returns the number of the bubble of this goroutine; 0: none.
func current() int64 {
	var buf [256]byte
	_, id := parse(string(buf[:runtime.Stack(buf[:], false)]))
	return id
}

// goroutinesOf returns the goroutines of the bubble with a number, except that of the
// runtime that moves the clock.
func goroutinesOf(bubble int64) []Goroutine {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 1<<26 {
		buf = make([]byte, 2*n)
		n = runtime.Stack(buf, true)
	}
	var list []Goroutine
	for stack := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		if g, id := parse(string(stack)); id != 0 && id == bubble && !strings.HasPrefix(g.State, "synctest.Run") {
			list = append(list, g)
		}
	}
	return list
}

// parse reads the stack of a goroutine. bubble is 0 for one that is in none.
func parse(stack string) (g Goroutine, bubble int64) {
	m := header().FindStringSubmatch(stack)
	if m == nil {
		return Goroutine{}, 0
	}
	bubble, _ = strconv.ParseInt(m[3], 10, 64)
	return Goroutine{ID: m[1], State: m[2], Stack: stack}, bubble
}
