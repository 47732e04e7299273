package ui

import (
	"fmt"
	"strings"
	"testing"
)

func TestTerminalModesAreUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, output, want string }{
		{"nothing", "text\r\n", ""},
		{"no output", "", ""},
		{"in a line", "text", "\r\n"},
		{"a color", "\x1b[31mred\r\n", "\x1b[0m"},
		{"the whole screen", "\x1b[?1049h\x1b[2J\x1b[?25l\r\n", "\x1b[?25h\x1b[?1049l\x1b[0m"},
		{"and back", "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l\r\n", "\x1b[0m"},
		{"a mouse", "\x1b[?1000;1006h\r\n", "\x1b[?1006l\x1b[?1000l\x1b[0m"},
		{"pasting", "\x1b[?2004h$ ", "\x1b[?2004l\x1b[0m\r\n"},
		{"layers of a keyboard", "\x1b[>1u\x1b[>5u\x1b[<u\r\n", "\x1b[<u\x1b[0m"},
		{"modified keys", "\x1b[>4;2m\r\n", "\x1b[>4m\x1b[0m"},
		{"and back again", "\x1b[>4;2m\x1b[>4;0m\r\n", "\x1b[0m"},
		{"a reset", "\x1b[?1049h\x1bc\r\n", "\x1b[0m"},
		{"not a mode", "\x1b]0;title\a\x1b[1;2H\x1b(B\r\n", "\x1b[0m"},
		{"one layer too many", "\x1b[>1u\x1b[<u\x1b[<u\x1b[>1u\r\n", "\x1b[<u\x1b[0m"},
		{"keys that are not told apart", "\x1b[>1;2m\r\n", "\x1b[0m"},
		{"wrapping lines", "\x1b[?7l\r\n", "\x1b[?7h\x1b[0m"},
		{"no mode", "\x1b[?;h\x1b[h\x1b[4h\r\n", "\x1b[0m"},
		{"a mode of the standard", "\x1b[20h\r\n", "\x1b[0m"},
		{"the carriage returned", "text\r", ""},
		{"more digits than a mode has", "\x1b[?" + strings.Repeat("1", 64) + "h\x1b[?25l\r\n", "\x1b[?25h\x1b[0m"},
		{"the largest mode", "\x1b[?1048575h\x1b[?1048576h\r\n", "\x1b[?1048575l\x1b[0m"},
		{"more modes than a sequence has", "\x1b[?" + strings.Repeat("1;", 100) + "2h\r\n", "\x1b[?1l\x1b[0m"},
		{"more layers than a terminal has", strings.Repeat("\x1b[>1u", 100) + "\r\n", strings.Repeat("\x1b[<u", maxChanged) + "\x1b[0m"},
		{"more modes than a terminal has", manyModes(1, "h", maxChanged+1) + "\r\n", manyModes(-1, "l", maxChanged) + "\x1b[0m"},
		{"a question about a mode", "\x1b[?1049$p\x1b[?1049$h\r\n", "\x1b[0m"},
		{"a title without end", "\x1b]0;\x1b[?25l\r\n", "\x1b[?25h\x1b[0m"},
		{"no end", "\x1b[?10", "\x1b[0m\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var whole, bytewise Modes
			whole.Write([]byte(c.output))
			for i := range c.output {
				bytewise.Write([]byte(c.output[i : i+1]))
			}
			if got := whole.Undo(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := bytewise.Undo(); got != c.want {
				t.Errorf("byte by byte: %q, want %q", got, c.want)
			}
		})
	}
}

// manyModes returns the text that turns modes on, from the first one up, or off,
// from the last one down.
func manyModes(step int, final string, n int) string {
	var b strings.Builder
	for i := range n {
		mode := 3001 + i
		if step < 0 {
			mode = 3000 + n - i
		}
		fmt.Fprintf(&b, "\x1b[?%d%s", mode, final)
	}
	return b.String()
}

func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25l"), 3)
	f.Fuzz(func(t *testing.T, output []byte, at int) {
		var whole, parts Modes
		whole.Write(output)
		if at = max(0, min(at, len(output))); at > 0 {
			parts.Write(output[:at])
		}
		parts.Write(output[at:])
		if a, b := whole.Undo(), parts.Undo(); a != b {
			t.Errorf("%q at once, %q in parts", a, b)
		}
	})
}
