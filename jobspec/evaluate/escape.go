package evaluate

import (
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// escapes are the strings of a file in JSON syntax whose escapes make offsets
// in the decoded text differ from offsets in the file.
type escapes struct {
	strings []escaped
	sorted  bool
}

// An escaped string contains escapes.
type escaped struct {
	at     hcl.Range // in the file, with quotes
	length int       // of the decoded text
}

func (e *escapes) add(at hcl.Range, length int) {
	e.strings = append(e.strings, escaped{at, length})
	e.sorted = false
}

// find returns the string that contains an offset, if it has escapes.
func (e *escapes) find(file string, offset int) (escaped, bool) {
	if !e.sorted {
		slices.SortFunc(e.strings, func(a, b escaped) int { return cmp.Compare(a.at.Start.Byte, b.at.Start.Byte) })
		e.sorted = true
	}
	i, found := slices.BinarySearchFunc(e.strings, offset, func(s escaped, offset int) int {
		return cmp.Compare(s.at.Start.Byte, offset)
	})
	if found || i == 0 {
		return escaped{}, false // the string as a whole, or before the first one
	}
	s := e.strings[i-1]
	return s, s.at.Filename == file && offset <= s.at.Start.Byte+1+s.length
}

// pos returns the position in the file of an offset in decoded bytes.
func (e escaped) pos(source []byte, offset int) hcl.Pos {
	pos := e.at.Start
	pos.Byte++ // the opening quote
	pos.Column++
	for left := offset - pos.Byte; left > 0 && pos.Byte < min(e.at.End.Byte, len(source)); {
		raw, decoded := character(source[pos.Byte:])
		pos.Byte += raw
		pos.Column += utf8.RuneCount(source[pos.Byte-raw : pos.Byte])
		left -= decoded
	}
	return pos
}

// character returns how many bytes the first character of a JSON string has in
// the file and decoded.
func character(source []byte) (raw, decoded int) {
	if source[0] != '\\' || len(source) < 2 {
		_, size := utf8.DecodeRune(source)
		return size, size
	}
	if source[1] != 'u' {
		return 2, 1
	}
	r := hexRune(source)
	if len(source) >= 12 && source[6] == '\\' && source[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(source[6:])); pair != utf8.RuneError {
			return 12, utf8.RuneLen(pair)
		}
	}
	if !utf8.ValidRune(r) {
		r = utf8.RuneError // half of a surrogate pair is decoded to this
	}
	return min(6, len(source)), utf8.RuneLen(r)
}

// hexRune returns the code in \uXXXX.
func hexRune(source []byte) rune {
	var r rune
	for _, c := range source[2:min(6, len(source))] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
