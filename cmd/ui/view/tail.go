package view

import (
	"bytes"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// keptTail is how much of a task's latest output is kept for the failure
// screen, in bytes.
const keptTail = 4 << 10

// tails holds the latest output of each task, with both streams in the order of
// arrival. It is safe for concurrent use.
type tails struct {
	mu     sync.Mutex
	byTask map[tailKey][]byte
}

type tailKey struct{ alloc, task string }

func newTails() *tails { return &tails{byTask: make(map[tailKey][]byte)} }

func (t *tails) add(alloc, task string, piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{alloc, task}
	if len(piece) >= keptTail {
		t.byTask[key] = append(t.byTask[key][:0], piece[len(piece)-keptTail:]...)
		return
	}
	tail := append(t.byTask[key], piece...)
	if len(tail) > 2*keptTail {
		tail = append(tail[:0], tail[len(tail)-keptTail:]...)
	}
	t.byTask[key] = tail
}

// last returns a task's last n lines that are not blank, made safe and cut to a
// width.
func (t *tails) last(alloc, task string, n, width int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return LastLines(t.byTask[tailKey{alloc, task}], n, width)
}

// LastLines returns the last n lines of a task's output that are not blank, made
// safe and cut to a width.
func LastLines(output []byte, n, width int) []string {
	var last []string
	for line := range bytes.SplitSeq(output, []byte{'\n'}) {
		if text := strings.TrimRight(string(appendVisible(nil, line)), " \t"); text != "" {
			last = append(last, ansi.Truncate(text, width, "…"))
		}
	}
	return last[max(0, len(last)-n):]
}
