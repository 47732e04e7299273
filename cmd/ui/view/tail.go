package view

import (
	"bytes"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// keptTail is how much of a task's latest output is kept for the failure
// screen, in bytes.
const keptTail = 4 << 10

// tails holds the latest output of each task, with both streams in the order of
// arrival.
type tails map[tailKey][]byte

type tailKey struct{ alloc, task string }

func (t tails) add(alloc, task string, piece []byte) {
	key := tailKey{alloc, task}
	if len(piece) >= keptTail {
		t[key] = append(t[key][:0], piece[len(piece)-keptTail:]...)
		return
	}
	tail := append(t[key], piece...)
	if len(tail) > 2*keptTail {
		tail = append(tail[:0], tail[len(tail)-keptTail:]...)
	}
	t[key] = tail
}

// last returns a task's last n lines that are not blank, made safe and cut to a
// width.
func (t tails) last(alloc, task string, n, width int) []string {
	var last []string
	for line := range bytes.SplitSeq(t[tailKey{alloc, task}], []byte{'\n'}) {
		if text := strings.TrimRight(string(appendVisible(nil, line)), " \t"); text != "" {
			last = append(last, ansi.Truncate(text, width, "…"))
		}
	}
	return last[max(0, len(last)-n):]
}
