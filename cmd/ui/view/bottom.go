package view

import (
	"io"
	"sync/atomic"
	"time"

	"taskrun/cmd/ui"
)

// Sequences that erase the current line, and also everything below it.
const (
	eraseLine  = "\r\x1b[K"
	eraseBelow = "\r\x1b[J"
)

// patience is how long a message waits for a terminal that takes no output.
const patience = 100 * time.Millisecond

// bottom is the line at the bottom of a terminal. The cursor stands on its first
// column: erasing everything below then erases all of it, even if the terminal has
// become narrower and has wrapped it, and nothing else. It changes no modes of the
// terminal, so nothing has to be undone.
//
// The display shows and erases the line in the order of its output. Others, which do
// not wait for that, wipe or hide it.
type bottom struct {
	shared  bool // output of tasks goes to a terminal, perhaps to the same one
	streams *ui.Streams
	turn    chan struct{} // of capacity 1: taken while something is written
	line    string        // the visible line, or ""; guarded by turn
	hidden  atomic.Bool
	lit     bool // the display has shown a line, and not erased it
}

// on reports whether there can be a line.
func (b *bottom) on() bool { return b.streams.Alone() }

// show shows a line with write, which erases the one before, unless it is shown
// already, lines are hidden, or a shell has the terminal.
func (b *bottom) show(line string, write func(erase bool)) {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	if line != b.line && !b.hidden.Load() && b.streams.Foreground() {
		before := b.line
		b.line, b.lit = line, true
		write(before != "")
	}
}

// gone reports whether the display must erase a line.
func (b *bottom) gone() (erase bool) {
	if !b.lit {
		return false
	}
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	erase = b.line != ""
	b.line, b.lit = "", false
	return erase
}

// say writes a message, which erases the line.
func (b *bottom) say(text string) {
	b.alone(func(bool) { _, _ = io.WriteString(b.streams.Err, text) }) // without stderr there is nowhere else
}

// hide removes the line and shows no other one until reveal.
func (b *bottom) hide() {
	b.hidden.Store(true)
	b.alone(func(shown bool) {
		if shown {
			_, _ = io.WriteString(b.streams.Err, eraseBelow)
		}
	})
}

func (b *bottom) reveal() { b.hidden.Store(false) }

// alone calls write, which erases the visible line. It does not wait long for
// output that no program reads.
func (b *bottom) alone(write func(shown bool)) {
	shown := false
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
		shown = b.line != ""
		b.line = ""
	case <-time.After(patience):
	}
	write(shown)
}
