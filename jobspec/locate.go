package jobspec

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"taskrun/jobspec/syntax"
)

// Place fills in the missing Range of every diagnostic that has a Path, and
// hides secret values.
func (f *File) Place(diagnostics Diagnostics) {
	for i := range diagnostics {
		p := &diagnostics[i]
		f.place(p)
		f.conceal.hide(p)
		if f.concealsBelow(p.Path.Parent()) {
			for _, text := range []*string{&p.Summary, &p.Detail, &p.Remedy} {
				*text = f.conceal.loosely(*text)
			}
		}
	}
}

// Sure returns the diagnostics of a draft that cannot be caused by a lost
// value.
func (f *File) Sure(diagnostics Diagnostics) Diagnostics {
	if len(f.lost) == 0 {
		return diagnostics
	}
	return slices.DeleteFunc(diagnostics, func(p Diagnostic) bool {
		if _, written := f.Positions[p.Path]; p.Alone && written {
			return slices.ContainsFunc(f.lost, p.Path.in)
		}
		return slices.ContainsFunc(f.lost, func(lost Path) bool {
			block := lost.Parent()
			if slices.Contains([]string{"job", "group", "task", "config", "env", "meta"}, block.Name()) {
				return p.Path == block || p.Path.in(lost)
			}
			if block.Name() == "identity" { // the default identity gets its own path later
				block = block.Parent().Attr("identity")
			}
			if block.Name() == "volume" && p.Path.Parent().Name() == "volume_mount" {
				return p.Path.in(block.Parent()) // a mount depends on its volume
			}
			return p.Path.in(block) // rules relate the values of a small block to each other
		})
	})
}

// concealsBelow reports whether a block contains a hidden value.
func (f *File) concealsBelow(block Path) bool {
	if f.concealed == nil {
		f.concealed = []Path{}
		for path, at := range f.Positions {
			if f.conceal.at(at) {
				f.concealed = append(f.concealed, path)
			}
		}
	}
	return slices.ContainsFunc(f.concealed, func(path Path) bool {
		return strings.HasPrefix(string(path), string(block))
	})
}

func (f *File) place(p *Diagnostic) {
	if !p.Range.IsZero() || p.Path == "" {
		return
	}
	path, exact := f.Positions.nearest(p.Path)
	p.Range = f.Positions[path]
	switch {
	case p.OfName && exact:
		p.Range = f.nameOf(p.Range, path.Name())
	case p.Word != "":
		p.Range = f.wordIn(p.Range, p.Word)
	}
}

// nameOf returns the range of the name of an attribute whose value is at r, or
// of a block whose header is at r. It returns r if the name is not there, for
// example because it was computed.
func (f *File) nameOf(r Range, name string) Range {
	text := f.Sources[r.File]
	if r.Start.Byte > len(text) {
		return r
	}
	if end, ok := endOfName(text[:r.Start.Byte], name); ok {
		return r.part(text, end-len(name), end)
	}
	if bytes.HasPrefix(text[r.Start.Byte:], []byte(name)) {
		return r.part(text, r.Start.Byte, r.Start.Byte+len(name))
	}
	return r
}

// endOfName returns the end of a name at the end of text, before an equals sign
// or a colon.
func endOfName(text []byte, name string) (int, bool) {
	const blanks = " \t\r\n"
	before := bytes.TrimRight(text, blanks)
	if !bytes.HasSuffix(before, []byte("=")) && !bytes.HasSuffix(before, []byte(":")) {
		return 0, false
	}
	before = bytes.TrimRight(before[:len(before)-1], blanks)
	before = bytes.TrimSuffix(before, []byte(`"`))
	rest, ok := bytes.CutSuffix(before, []byte(name))
	last, _ := utf8.DecodeLastRune(rest)
	return len(before), ok && !isInWord(last)
}

// wordIn returns the range of a word within r, or r if the source does not
// contain it literally.
func (f *File) wordIn(r Range, word string) Range {
	text := f.Sources[r.File]
	if r.Start.Byte > r.End.Byte || r.End.Byte > len(text) {
		return r
	}
	for at := r.Start.Byte; ; at += len(word) {
		i := bytes.Index(text[at:r.End.Byte], []byte(word))
		if i < 0 {
			return r
		}
		at += i
		if next, _ := utf8.DecodeRune(text[at+len(word):]); !isInWord(next) {
			return r.part(text, at, at+len(word))
		}
	}
}

// part returns the range between two offsets in the text, which are close to r.
func (r Range) part(text []byte, from, to int) Range {
	start := syntax.Move(r.Start, text, from)
	return Range{File: r.File, Start: start, End: syntax.Move(start, text, to)}
}
