// Package visible escapes untrusted text, such as names in a job file or the
// response of a server, so that it cannot control a terminal.
//
// Control characters, characters that change the writing direction, line breaks
// and invisible characters are escaped like in a Go string: ESC as \x1b, U+202E
// as \u202e. Other text does not change, and escaping twice changes nothing.
package visible

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String escapes text for a part of one line, such as a name, including line
// breaks and tabs.
func String(s string) string { return escape(s, false) }

// Text escapes text that may have several lines, such as a message. It keeps
// line breaks and tabs.
func Text(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	var escaped []byte
	done := 0 // escaped part of s
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f || lines && (c == '\n' || c == '\t') {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if n == 1 || !Shown(r) {
			quoted := strconv.QuoteToASCII(s[i : i+n])
			escaped = append(append(escaped, s[done:i]...), quoted[1:len(quoted)-1]...)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	return string(append(escaped, s[done:]...))
}

// Shown reports whether a character is visible or a blank.
func Shown(r rune) bool { return strconv.IsGraphic(r) }

// JSON escapes such characters in a JSON text. The meaning does not change.
func JSON(text []byte) []byte {
	var escaped []byte
	done := 0 // escaped part of text
	for i := 0; i < len(text); {
		if text[i] < 0x7f { // JSON has no control characters in strings
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if !Shown(r) {
			escaped = AppendJSON(append(escaped, text[done:i]...), r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	return append(escaped, text[done:]...)
}

// AppendJSON appends the escape of a character in a JSON string.
func AppendJSON(dst []byte, r rune) []byte {
	const short, letters, hex = "\"\\\t\r", `"\tr`, "0123456789abcdef"
	if i := strings.IndexRune(short, r); i >= 0 {
		return append(dst, '\\', letters[i])
	}
	for _, u := range utf16.AppendRune(nil, r) {
		dst = append(dst, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	return dst
}

// Writer escapes everything that is written to it. Each call must write whole
// characters.
type Writer struct{ To io.Writer }

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
