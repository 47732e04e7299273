package report

import (
	"bytes"
	"fmt"
	"io"
)

// Guard passes output on, and changes what GitHub's runner would take for a
// workflow command. The runner looks for "::command" at the beginning of a line,
// after blanks, and for "##[command" anywhere; a carriage return ends a line, too.
// Stop-commands would not do: the runner reads stdout and stderr in no order, and
// the marks would appear in the output of tasks.
//
// In text, a backslash is written before the command. In JSON, the first letter
// of the command is escaped, which does not change the meaning.
type Guard struct {
	To   io.Writer
	JSON bool

	inLine bool // there was more than blanks in the line
	colons int  // behind the blanks
	marks  int  // how much of "##[" was there
	buf    []byte
}

// Write implements io.Writer.
func (g *Guard) Write(p []byte) (int, error) {
	buf, done := g.buf[:0], 0 // written part of p
	text := stretches{text: p, at: [len(ends)]int{-1, -1, -1}}
	for i := 0; i < len(p); i++ {
		if g.inLine && g.marks == 0 {
			if i = text.next(i); i == len(p) {
				break
			}
		}
		c := p[i]
		if g.command(c) {
			buf = append(buf, p[done:i]...)
			if done = i; g.JSON {
				buf, done = fmt.Appendf(buf, `\u%04x`, c), i+1
			} else {
				buf = append(buf, '\\')
			}
		}
		g.step(c)
	}
	if len(buf) == 0 {
		return g.To.Write(p)
	}
	g.buf = append(buf, p[done:]...)
	if _, err := g.To.Write(g.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ends are the characters that matter inside of a line.
const ends = "\n\r#"

// stretches finds them, and looks for each of them no more often than it is there.
type stretches struct {
	text []byte
	at   [len(ends)]int // the next of each, as far as was looked
}

// next returns the position of the first one from i on, or the length of the text.
func (s *stretches) next(i int) int {
	first := len(s.text)
	for k := range s.at {
		if s.at[k] < i {
			if s.at[k] = bytes.IndexByte(s.text[i:], ends[k]) + i; s.at[k] < i {
				s.at[k] = len(s.text)
			}
		}
		first = min(first, s.at[k])
	}
	return first
}

// command reports whether a character begins the name of a command.
func (g *Guard) command(c byte) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return letter && (g.marks == len("##[") || g.colons == len("::") && !g.JSON)
}

// step takes note of a character.
func (g *Guard) step(c byte) {
	switch {
	case c == '\n', c == '\r':
		g.inLine, g.colons, g.marks = false, 0, 0
		return
	case g.inLine:
	case c == ':' && g.colons < len("::"):
		g.colons++
	case g.colons == 0 && (c <= ' ' || c >= 0x80): // perhaps a blank
	default:
		g.inLine, g.colons = true, 0
	}
	switch {
	case c == '#' && g.marks < len("##["):
		g.marks = min(g.marks+1, len("##"))
	case c == '#':
		g.marks = 1
	case c == '[' && g.marks == len("##"):
		g.marks++
	default:
		g.marks = 0
	}
}
