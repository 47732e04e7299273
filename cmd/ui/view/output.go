package view

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// appendVisible appends a line of a task without control characters: colors and
// other escape sequences are removed, a line that rewrites itself is reduced to
// its last state, and other control bytes and invalid UTF-8 are escaped.
func appendVisible(dst, line []byte) []byte {
	dst, _ = appendSafe(dst, lastState(line), nil, false)
	return dst
}

// appendSafe appends text in a form that is safe for a terminal. With colors,
// it keeps those that the task sets; inForce are the color sequences in force
// before the text, after those after it.
func appendSafe(dst, line, inForce []byte, colors bool) (safe, after []byte) {
	for len(line) > 0 {
		c := line[0]
		switch {
		case c == esc:
			n, isColor := sequence(line)
			if n == 0 { // not a sequence
				dst = append(dst, '^', '[')
				n = 1
			}
			if isColor && colors {
				dst = append(dst, line[:n]...)
				inForce = addColor(inForce, line[:n])
			}
			line = line[n:]
		case c == '\t':
			dst = append(dst, c)
			line = line[1:]
		case c < ' ' || c == del:
			dst = append(dst, '^', c^0x40)
			line = line[1:]
		case c < utf8.RuneSelf:
			n := 1
			for n < len(line) && line[n] >= ' ' && line[n] < del {
				n++
			}
			dst = append(dst, line[:n]...)
			line = line[n:]
		default:
			r, n := utf8.DecodeRune(line)
			switch {
			case r == utf8.RuneError && n == 1:
				dst = fmt.Appendf(dst, `\x%02x`, c)
			case r < 0xa0 || bidi(r): // C1 controls start sequences, too
				dst = fmt.Appendf(dst, `\u%04x`, r)
			default:
				dst = append(dst, line[:n]...)
			}
			line = line[n:]
		}
	}
	return dst, inForce
}

const (
	esc         = 0x1b
	del         = 0x7f
	resetColors = "\x1b[0m"
	maxColor    = 64 // of the sequences in force, in bytes
)

// lastState returns the visible result of a line with carriage returns.
func lastState(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// bidi reports whether r reorders the text around it.
func bidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// sequence returns the length of the escape sequence at the start of line, or 0
// if it is incomplete, and whether it only sets colors. The library ends a
// string, such as a title, at the byte 0x9c even inside of a character, and
// panics if there are more than 32 parameters.
func sequence(line []byte) (n int, isColor bool) {
	if len(line) > 1 && bytes.IndexByte([]byte("]PX^_"), line[1]) >= 0 {
		switch end := bytes.IndexAny(line[2:], "\a\x1b") + 2; {
		case line[end] == '\a':
			return end + 1, false
		case bytes.HasPrefix(line[end:], []byte("\x1b\\")):
			return end + 2, false
		}
		return 0, false
	}
	seq, _, n, state := ansi.DecodeSequence(line, ansi.NormalState, nil)
	if n == 1 || state != ansi.NormalState {
		return 0, false
	}
	return n, seq[1] == '[' && string(bytes.Trim(seq[2:], "0123456789:;")) == "m"
}

// addColor adds a sequence to those in force. A sequence that starts with a
// reset replaces all others.
func addColor(inForce, seq []byte) []byte {
	params := seq[2 : len(seq)-1]
	if len(params) == 0 || bytes.Equal(params, []byte("0")) {
		return inForce[:0]
	}
	if bytes.HasPrefix(params, []byte("0;")) {
		inForce = inForce[:0]
	}
	if len(inForce)+len(seq) > maxColor {
		return inForce
	}
	return append(inForce, seq...)
}
