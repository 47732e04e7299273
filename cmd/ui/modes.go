package ui

import (
	"bytes"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// Modes tracks the terminal modes that programs change through their output, so
// that they can be undone if the programs are cut off: the alternate screen, a
// hidden cursor, mouse reporting. The zero value has the default modes.
type Modes struct {
	parser   *ansi.Parser
	changed  []ansi.DECMode // modes that differ from the default
	keyboard int            // number of pushed layers of keyboard modes
	keys     bool           // modified keys are reported
	escapes  bool           // there were any sequences
	midLine  bool           // the cursor is after some text
}

// maxChanged limits the tracked modes and layers of keyboard modes; maxMode is
// an upper limit of mode numbers.
const (
	maxChanged = 64
	maxMode    = 1 << 20
)

// usuallyOn are the private modes that are on by default.
var usuallyOn = []ansi.DECMode{ansi.ModeAutoWrap, ansi.ModeTextCursorEnable}

// Write processes output on its way to the terminal.
func (m *Modes) Write(p []byte) {
	if len(p) == 0 {
		return
	}
	m.midLine = p[len(p)-1] != '\n' && p[len(p)-1] != '\r'
	if m.parser == nil {
		m.parser = new(ansi.Parser)
		m.parser.SetParamsSize(parser.MaxParamsSize)
		m.parser.SetHandler(ansi.Handler{HandleCsi: m.control, HandleEsc: m.escape})
	}
	for {
		if m.parser.State() == parser.GroundState {
			i := bytes.IndexByte(p, ansi.ESC)
			if i < 0 {
				return
			}
			p, m.escapes = p[i:], true
		}
		if len(p) == 0 {
			return
		}
		m.parser.Advance(p[0])
		p = p[1:]
	}
}

func (m *Modes) escape(cmd ansi.Cmd) {
	if cmd == 'c' { // full reset of the terminal
		m.changed, m.keyboard, m.keys = nil, 0, false
	}
}

func (m *Modes) control(cmd ansi.Cmd, params ansi.Params) {
	if cmd.Intermediate() != 0 {
		return
	}
	switch kind := string([]byte{cmd.Prefix(), cmd.Final()}); kind {
	case "?h", "?l":
		params.ForEach(0, func(_, mode int, _ bool) { m.set(ansi.DECMode(mode), kind == "?h") })
	case ">u":
		m.keyboard = min(m.keyboard+1, maxChanged)
	case "<u":
		m.keyboard = max(0, m.keyboard-1)
	case ">m":
		what, _, _ := params.Param(0, 0)
		value, _, ok := params.Param(1, 0)
		m.keys = what == 4 && ok && value != 0
	}
}

func (m *Modes) set(mode ansi.DECMode, on bool) {
	m.changed = slices.DeleteFunc(m.changed, func(other ansi.DECMode) bool { return other == mode })
	if on != slices.Contains(usuallyOn, mode) && mode > 0 && mode < maxMode && len(m.changed) < maxChanged {
		m.changed = append(m.changed, mode)
	}
}

// Undo returns the text that resets the terminal and puts the cursor at the
// beginning of a line.
func (m *Modes) Undo() string {
	var b strings.Builder
	for _, mode := range slices.Backward(m.changed) {
		if slices.Contains(usuallyOn, mode) {
			b.WriteString(ansi.SetMode(mode))
		} else {
			b.WriteString(ansi.ResetMode(mode))
		}
	}
	b.WriteString(strings.Repeat("\x1b[<u", m.keyboard))
	if m.keys {
		b.WriteString("\x1b[>4m")
	}
	if m.escapes {
		b.WriteString("\x1b[0m")
	}
	if m.midLine {
		b.WriteString("\r\n")
	}
	return b.String()
}
