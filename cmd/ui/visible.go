package ui

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// appendVisible appends a line of a task without anything that a terminal
// would obey: colours and other escape sequences are left out, of a progress
// line that rewrites itself the last state remains, and other control bytes
// and broken UTF-8 are spelled out.
func appendVisible(dst, line []byte) []byte {
	dst, _ = appendSafe(dst, lastState(line), nil, false)
	return dst
}

// appendSafe appends text as a terminal may get it. With colours it keeps those
// that the task sets; inForce are the sequences in force before the text, and
// what is returned those after it.
func appendSafe(dst, line, inForce []byte, colours bool) (safe, after []byte) {
	for len(line) > 0 {
		c := line[0]
		switch {
		case c == esc:
			n, isColour := escape(line)
			if n == 0 { // not a sequence
				dst = append(dst, '^', '[')
				n = 1
			}
			if isColour && colours {
				dst = append(dst, line[:n]...)
				inForce = addColour(inForce, line[:n])
			}
			line = line[n:]
		case c == '\t':
			dst = append(dst, c)
			line = line[1:]
		case c < ' ' || c == del:
			dst = append(dst, '^', c^0x40)
			line = line[1:]
		case c < utf8.RuneSelf:
			n := printable(line)
			dst = append(dst, line[:n]...)
			line = line[n:]
		default:
			r, n := utf8.DecodeRune(line)
			switch {
			case r == utf8.RuneError && n == 1:
				dst = fmt.Appendf(dst, `\x%02x`, c)
			case r < 0xa0 || bidi(r): // C1 controls start sequences too
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
	esc       = 0x1b
	bell      = 0x07
	del       = 0x7f
	maxColour = 64 // of sequences in force, in bytes
)

// lastState returns what a line that returns to its beginning ends up as.
func lastState(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// printable is the number of bytes at the start of line that mean themselves.
func printable(line []byte) int {
	for i, c := range line {
		if c < ' ' || c >= del {
			return i
		}
	}
	return len(line)
}

// bidi reports whether r reorders the text around it.
func bidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// escape returns the length of the escape sequence at the start of line, as in
// ECMA-48, or 0 when it has no end, and whether all it does is set colours.
func escape(line []byte) (n int, isColour bool) {
	if len(line) < 2 {
		return 0, false
	}
	switch c := line[1]; {
	case c == '[':
		for i := 2; i < len(line); i++ {
			if b := line[i]; b >= 0x40 && b <= 0x7e {
				return i + 1, b == 'm' && !bytes.ContainsAny(line[2:i], "<=>?")
			} else if b < 0x20 || b > 0x3f {
				return i, false
			}
		}
		return 0, false
	case bytes.IndexByte([]byte("]PX^_"), c) >= 0: // a string up to BEL or ESC \
		for i := 2; i < len(line); i++ {
			if line[i] == bell {
				return i + 1, false
			}
			if line[i] == esc && i+1 < len(line) && line[i+1] == '\\' {
				return i + 2, false
			}
		}
		return 0, false
	case c >= 0x20 && c <= 0x2f && len(line) > 2: // such as the choice of a character set
		return 3, false
	case c >= 0x30 && c <= 0x7e:
		return 2, false
	}
	return 0, false
}

// addColour adds a sequence to those in force. One that begins with a reset
// takes the place of all others.
func addColour(inForce, seq []byte) []byte {
	params := seq[2 : len(seq)-1]
	if len(params) == 0 || bytes.Equal(params, []byte("0")) {
		return inForce[:0]
	}
	if bytes.HasPrefix(params, []byte("0;")) {
		inForce = inForce[:0]
	}
	if len(inForce)+len(seq) > maxColour {
		return inForce
	}
	return append(inForce, seq...)
}
