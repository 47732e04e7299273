package jobspec

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Place fills in the Range of every problem that has a Path but no Range yet.
func (f *File) Place(problems Problems) {
	for i := range problems {
		p := &problems[i]
		if !p.Range.IsZero() || p.Path == "" {
			continue
		}
		path, exact := f.Positions.nearest(p.Path)
		p.Range = f.Positions[path]
		if p.OfName && exact {
			p.Range = f.nameOf(p.Range, path.Name())
		}
	}
}

// nearest returns a path that has a place: p, or the nearest path around it;
// exact tells whether it names the same thing as p. One block may be named with
// its index (x[0]) or without (x), since its value does not tell whether it was
// written as a block or as an object.
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
		return rangeOfName(r, text, end-len(name), name)
	}
	if bytes.HasPrefix(text[r.Start.Byte:], []byte(name)) {
		return rangeOfName(r, text, r.Start.Byte, name)
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
	if !ok || unicode.IsLetter(last) || unicode.IsDigit(last) || last == '_' || last == '-' {
		return 0, false
	}
	return len(before), true
}

// rangeOfName returns the range of a name that begins at an offset up to r.
func rangeOfName(r Range, text []byte, at int, name string) Range {
	between := text[at:r.Start.Byte]
	start := Pos{Line: r.Start.Line - bytes.Count(between, []byte("\n")), Byte: at}
	if start.Line == r.Start.Line {
		start.Column = r.Start.Column - utf8.RuneCount(between)
	} else {
		start.Column = utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at]) + 1
	}
	end := start
	end.Column += utf8.RuneCountInString(name)
	end.Byte += len(name)
	return Range{File: r.File, Start: start, End: end}
}
