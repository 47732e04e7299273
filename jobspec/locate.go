package jobspec

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Place fills in the Range of every diagnostic that has a Path but no Range yet,
// and hides values that must not be shown.
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

// concealsBelow reports whether a block, or what is in it, has a value that must
// not be shown.
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

// nearest returns a path that has a place: p, or the nearest path around it;
// exact reports whether it means the same as p. One block may have an index
// (x[0]) or not (x), since its value does not show whether it was written as a
// block or as an object.
func (ps Positions) nearest(p Path) (path Path, exact bool) {
	if _, ok := ps[p]; ok || p == "" {
		return p, ok
	}
	parent := p.Parent()
	around, exact := ps.nearest(parent)
	if !exact {
		return around, false
	}
	step := p[len(parent):]
	if _, ok := ps[around+step]; ok {
		return around + step, true
	}
	list, isElement := step, false
	if i := strings.LastIndexByte(string(step), '['); i >= 0 {
		list, isElement = step[:i], true
	}
	if _, ok := ps[around+list]; ok { // the first element, or the list of another
		return around + list, strings.HasSuffix(string(step), "[0]")
	}
	if _, ok := ps[around+list+"[0]"]; ok && !isElement {
		return around + list + "[0]", true
	}
	return around, false
}

// nameOf returns the range of a name whose value, or which as the header of a
// block, is at r. It returns r if the name is not there, as it may have been
// computed.
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

// endOfName returns where a name ends that is followed by an equals sign or a
// colon, and then by the value that comes after text.
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

// wordIn returns the range of a word in what is at r, or r if it is not there
// as it reads in the job.
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

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }

// part returns the range from one offset in the text to another, which are not
// far from r.
func (r Range) part(text []byte, from, to int) Range {
	start := move(r.Start, text, from)
	return Range{File: r.File, Start: start, End: move(start, text, to)}
}

// move returns the place of another offset in the text.
func move(p Pos, text []byte, to int) Pos {
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
