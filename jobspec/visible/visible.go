// Package visible writes text that somebody else may have chosen, such as names
// in a job file or what a server answers, so that a terminal only shows it.
//
// Characters that a terminal obeys, that change the direction of writing, that
// break a line or that nobody sees are written as Go escapes them in a string:
// ESC as \x1b, U+202E as \u202e. What remains can be looked at and copied.
// Text without such characters stays as it is, and making text visible twice
// changes nothing.
package visible

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// String returns text for a part of one line, such as a name: line breaks and
// tabs are escaped as well.
func String(s string) string { return escape(s, false) }

// Text returns text that may have several lines, such as a message: line breaks
// and tabs stay.
func Text(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	clean := 0
	for clean < len(s) && plain(s[clean], lines) {
		clean++
	}
	if clean == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:clean]...)
	for rest := s[clean:]; len(rest) > 0; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case n == 1 && plain(rest[0], lines), n > 1 && Shown(r):
			b = append(b, rest[:n]...)
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, rest[0])
		default:
			quoted := strconv.AppendQuoteRuneToASCII(nil, r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		rest = rest[n:]
	}
	return string(b)
}

// plain reports whether a byte is a character that stays.
func plain(c byte, lines bool) bool {
	return c >= ' ' && c < 0x7f || lines && (c == '\n' || c == '\t')
}

// Shown reports whether a character is one that a reader sees, or a blank.
func Shown(r rune) bool { return strconv.IsGraphic(r) }

// JSON returns a JSON text in which such characters are escaped as JSON has it:
// it means the same.
func JSON(text []byte) []byte {
	for i, c := range text {
		if c >= 0x7f {
			return escapeJSON(text, i)
		}
	}
	return text
}

// escapeJSON begins at the first byte that has to be looked at. Below it are
// the control characters, of which JSON has none in strings.
func escapeJSON(text []byte, first int) []byte {
	b := append(make([]byte, 0, len(text)+16), text[:first]...)
	for rest := text[first:]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r < 0x7f, r == utf8.RuneError, Shown(r):
			b = append(b, rest[:n]...)
		default:
			b = AppendJSON(b, r)
		}
		rest = rest[n:]
	}
	return b
}

// AppendJSON appends the escape of a character in a JSON string.
func AppendJSON(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// Writer makes visible what is written to it: in each call whole characters.
type Writer struct{ To io.Writer }

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
