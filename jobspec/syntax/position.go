package syntax

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// start is the position of the first byte of a text.
var start = hcl.Pos{Line: 1, Column: 1}

// RangeOf returns the range between two offsets in a text.
func RangeOf(text []byte, name string, from, to int) hcl.Range {
	begin := Move(start, text, from)
	return hcl.Range{Filename: name, Start: begin, End: Move(begin, text, to)}
}

// Move returns the position of another offset in the text. It only looks at the text
// between them, and at the line of the other one if that is not the same.
func Move(p hcl.Pos, text []byte, to int) hcl.Pos {
	between := text[min(p.Byte, to):max(p.Byte, to)]
	lines := bytes.Count(between, []byte("\n"))
	switch {
	case lines > 0:
		begin := bytes.LastIndexByte(text[:to], '\n') + 1
		p.Column = utf8.RuneCount(text[begin:to]) + 1
	case to < p.Byte:
		p.Column -= utf8.RuneCount(between)
	default:
		p.Column += utf8.RuneCount(between)
	}
	if to < p.Byte {
		lines = -lines
	}
	p.Line += lines
	p.Byte = to
	return p
}
