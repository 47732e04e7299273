package ui

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Modes follows what programs do to a terminal through their output, so that
// it can be undone when they are cut off before they did so themselves: a full
// screen left open, a hidden cursor, a mouse that types. The zero value is that
// of a terminal as the user has it.
type Modes struct {
	changed  []string // private modes that are not as usual, such as "1049"
	keyboard int      // how many layers of keyboard modes were pushed
	keys     bool     // modified keys are told apart
	begun    []byte   // a sequence whose end has not come
	escapes  bool     // there was a sequence at all
	midLine  bool     // the cursor is behind some text
}

// maxSequence is how long a sequence may be to be looked at, in bytes.
const maxSequence = 64

// usuallyOn are the private modes of ECMA-48 terminals that are on without a
// program's doing: wrapping lines, and the cursor.
var usuallyOn = []string{"7", "25"}

// Write takes output that is on its way to the terminal.
func (m *Modes) Write(p []byte) {
	if len(p) == 0 {
		return
	}
	m.midLine = p[len(p)-1] != '\n' && p[len(p)-1] != '\r'
	if len(m.begun) > 0 {
		p = append(m.begun, p...)
		m.begun = nil
	}
	for {
		i := bytes.IndexByte(p, esc)
		if i < 0 {
			return
		}
		p = p[i:]
		m.escapes = true
		n := sequence(p)
		if n == 0 && len(p) < maxSequence {
			m.begun = bytes.Clone(p)
			return
		}
		if n == 0 || n > maxSequence {
			n = 1
		}
		m.apply(p[:n])
		p = p[n:]
	}
}

// sequence returns the length of the control sequence at the start of p, and 0
// when its end is not there yet. Of others it is as much as tells them apart.
func sequence(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	if p[1] != '[' {
		return 2
	}
	for i := 2; i < len(p); i++ {
		if p[i] < 0x20 || p[i] > 0x3f { // no parameter
			return i + 1
		}
	}
	return 0
}

func (m *Modes) apply(seq []byte) {
	if string(seq) == "\x1bc" { // a reset of the whole terminal
		*m = Modes{escapes: true, midLine: m.midLine}
		return
	}
	if len(seq) < 4 || seq[1] != '[' {
		return
	}
	params, final := string(seq[3:len(seq)-1]), seq[len(seq)-1]
	switch kind := string([]byte{seq[2], final}); kind {
	case "?h", "?l":
		for mode := range strings.SplitSeq(params, ";") {
			m.set(mode, (final == 'h') != slices.Contains(usuallyOn, mode))
		}
	case ">u":
		m.keyboard++
	case "<u":
		m.keyboard = max(0, m.keyboard-1)
	case ">m":
		m.keys = strings.HasPrefix(params, "4;") && params != "4;0"
	}
}

func (m *Modes) set(mode string, changed bool) {
	m.changed = slices.DeleteFunc(m.changed, func(s string) bool { return s == mode })
	if changed && mode != "" && len(m.changed) < maxSequence {
		m.changed = append(m.changed, mode)
	}
}

// Undo returns what puts the terminal back, with the cursor at the beginning
// of a line.
func (m *Modes) Undo() string {
	var b strings.Builder
	for _, mode := range slices.Backward(m.changed) {
		final := 'l'
		if slices.Contains(usuallyOn, mode) {
			final = 'h'
		}
		fmt.Fprintf(&b, "\x1b[?%s%c", mode, final)
	}
	b.WriteString(strings.Repeat("\x1b[<u", m.keyboard))
	if m.keys {
		b.WriteString("\x1b[>4m")
	}
	if m.escapes {
		b.WriteString(resetColours)
	}
	if m.midLine {
		b.WriteString("\r\n")
	}
	return b.String()
}
