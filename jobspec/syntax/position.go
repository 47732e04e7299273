package syntax

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// start is the position of the first byte of a text.
var start = hcl.Pos{Line: 1, Column: 1}

func rangeOf(text []byte, name string, from, to int) hcl.Range {
	return hcl.Range{Filename: name, Start: posOf(text, from), End: posOf(text, to)}
}

func posOf(text []byte, offset int) hcl.Pos {
	before := text[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return hcl.Pos{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[begin:]) + 1,
		Byte:   offset,
	}
}
