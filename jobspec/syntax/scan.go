package syntax

import "bytes"

// A scanner goes through a text in native syntax and keeps account of how deep
// the parser would recurse. It tells strings and comments from code exactly as
// HCL's scanner does, at a hundredth of the cost: it makes no tokens.
type scanner struct {
	text   []byte
	at     int
	open   []level
	path   int // brackets and operators around this place, or before it in its expression
	tokens int // so far, roughly
	digits int // in a row
	copied int // bytes of text that the parser copies
	word   bool

	unclosed bool // a comment has no end
	comment  int  // where it begins
}

// bracket is what a level was opened by.
type bracket byte

const (
	brace   bracket = '{'
	square  bracket = '['
	round   bracket = '('
	quote   bracket = '"'
	heredoc bracket = '<'
	interp  bracket = '$' // ${
	control bracket = '%' // %{
	bare    bracket = 't' // the content of a string in JSON syntax
)

// A level is an open bracket.
type level struct {
	bracket bracket
	path    int
	fresh   bool   // nothing but blanks and comments so far
	items   bool   // newlines end what is in it: it is a block or an object
	marker  []byte // that ends a heredoc
	at      []int  // where the introduction of a heredoc begins and ends
	text    bool   // the line of a heredoc began with text, or with the marker
	begin   int    // offset where the text began that no interpolation interrupts
	pieces  int    // of text so far
	parts   int    // pieces and interpolations
}

// step takes one token, or a part of one.
func (s *scanner) step() {
	if n := len(s.open); n > 0 {
		switch s.open[n-1].bracket {
		case quote, heredoc, bare:
			s.template(&s.open[n-1])
			return
		}
	}
	s.code()
}

// template takes a piece of a string.
func (s *scanner) template(top *level) {
	rest := s.text[s.at:]
	lineStart := top.text
	top.text = false
	switch c := rest[0]; {
	case top.bracket == heredoc && lineStart && s.endsHeredoc(top.marker):
		s.close()
		return // the newline that ends the marker's line is code
	case c == '\n':
		top.text = true
		s.piece(top)
	case c == '\\' && top.bracket == quote && len(rest) > 1 && rest[1] != '\n' && rest[1] != '\r':
		s.at++
	case c == '"' && top.bracket == quote:
		s.close()
	case c != '$' && c != '%':
		// Text, like any other.
	case bytes.HasPrefix(rest[1:], []byte{c, '{'}):
		s.piece(top)
		s.at += 2 // $${ and %%{ are text
	case bytes.HasPrefix(rest[1:], []byte("{")):
		s.at++
		s.push(level{bracket: bracket(c)})
	default:
		s.piece(top)
	}
	s.at++
}

// piece ends a piece of text. The parser joins the pieces of a text one by one:
// each time it copies the text so far, and moves the parts that follow. The
// former takes some ten times as long, hence the count of parts for their bytes.
func (s *scanner) piece(top *level) {
	s.copied += s.at - top.begin
	top.pieces++
	top.parts++
	s.copied += top.pieces + top.parts // makes pieces times parts in all
}

// endsHeredoc reports whether the line that begins here is the end marker, and
// if so goes to the end of it.
func (s *scanner) endsHeredoc(marker []byte) bool {
	line := s.text[s.at:]
	end := bytes.IndexByte(line, '\n')
	if end < 0 || !bytes.Equal(bytes.TrimSpace(line[:end]), marker) {
		return false
	}
	s.at += end
	return true
}

// code takes a piece of what is not a string.
func (s *scanner) code() {
	c := s.text[s.at]
	rest := s.text[s.at:]
	if isDigit(c) || isLetter(c) || c == '-' && s.word {
		s.takeWord(c)
		return
	}
	if c == '.' && s.digits > 0 {
		s.at++ // of a number
		return
	}
	s.word, s.digits = false, 0
	s.tokens++
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		s.tokens--
	case c == '#' || bytes.HasPrefix(rest, []byte("//")):
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.text)
		}
		return // the newline comes next
	case bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			s.at += 2 + end + 2
		} else {
			// HCL would look for the end from here, and again from the next /*.
			s.unclosed, s.comment = true, s.at
			s.at = len(s.text)
		}
		return
	case c == '\n':
		s.newline()
	default:
		s.significant(false)
		s.mark(c, rest)
	}
	s.at++
}

// mark takes a bracket or an operator.
func (s *scanner) mark(c byte, rest []byte) {
	switch c {
	case '"', '[', '(':
		s.push(level{bracket: bracket(c), text: true})
	case '{':
		s.push(level{bracket: brace, fresh: true})
	case ']':
		s.closeIf(square)
	case ')':
		s.closeIf(round)
	case '}':
		s.closeBrace()
	case ',':
		if n := len(s.open); n > 0 {
			s.path = s.open[n-1].path
		}
	case '.', '=':
	case '<':
		if marker, length := heredocMarker(rest); marker != nil {
			begin := s.at
			s.at += length - 1
			s.push(level{bracket: heredoc, marker: marker, at: []int{begin, s.at}, text: true})
			return
		}
		s.operator()
	default:
		s.operator()
	}
}

// takeWord takes a character of a name or a number.
func (s *scanner) takeWord(c byte) {
	if !s.word && s.digits == 0 {
		s.tokens++
	}
	switch {
	case isLetter(c) && s.digits > 0 && (c == 'e' || c == 'E'):
		// An exponent; its sign counts as an operator, which does no harm.
	case isLetter(c):
		s.significant(isFor(s.text[s.at:]) && !s.word)
		s.word, s.digits = true, 0
	case isDigit(c) && !s.word:
		s.significant(false)
		s.digits++
	}
	s.at++
}

// significant notes that something other than a blank or a comment follows a
// bracket. A for expression goes on after a newline; what else a brace holds
// does not.
func (s *scanner) significant(isFor bool) {
	if n := len(s.open); n > 0 && s.open[n-1].fresh {
		s.open[n-1].fresh = false
		s.open[n-1].items = !isFor
	}
}

func (s *scanner) newline() {
	if n := len(s.open); n == 0 {
		s.path = 0
	} else if s.open[n-1].items {
		s.path = s.open[n-1].path
	}
}

func (s *scanner) operator() { s.path++ }

func (s *scanner) push(l level) {
	s.path++
	l.path, l.begin = s.path, s.at
	s.open = append(s.open, l)
}

// close ends the innermost level. What it held counts once from here on: an
// index after an index makes the tree deeper. Not so one interpolation after
// another.
func (s *scanner) close() {
	n := len(s.open) - 1
	s.path = s.open[n].path
	if s.open[n].bracket == interp {
		s.path--
	}
	s.open = s.open[:n]
	if n > 0 {
		outer := &s.open[n-1]
		outer.begin = s.at // text begins anew
		outer.parts++
		s.copied += outer.pieces
	}
}

// closeIf ends the innermost level if it was opened by that bracket. Another
// bracket in its place is an error that makes the parser give up the level; to
// keep it here errs on the safe side.
func (s *scanner) closeIf(b bracket) {
	if n := len(s.open); n > 0 && s.open[n-1].bracket == b {
		s.close()
	}
}

// closeBrace ends the innermost block, object or interpolation, and with it the
// round and square brackets that were left open in it.
func (s *scanner) closeBrace() {
	for i := len(s.open) - 1; i >= 0; i-- {
		switch s.open[i].bracket {
		case quote, heredoc, bare:
			return
		case brace, interp, control:
			for len(s.open) > i {
				s.close()
			}
			return
		}
	}
}

// heredocMarker returns the marker of the heredoc that begins here, and the
// length of its introduction, newline included.
func heredocMarker(rest []byte) ([]byte, int) {
	if !bytes.HasPrefix(rest, []byte("<<")) {
		return nil, 0
	}
	begin := 2
	if len(rest) > begin && rest[begin] == '-' {
		begin++
	}
	end := begin
	for end < len(rest) && (isLetter(rest[end]) || end > begin && (isDigit(rest[end]) || rest[end] == '-')) {
		end++
	}
	newline := end
	if newline < len(rest) && rest[newline] == '\r' {
		newline++
	}
	if end == begin || newline == len(rest) || rest[newline] != '\n' {
		return nil, 0
	}
	return rest[begin:end], newline + 1
}

// isFor reports whether the word that begins here is "for".
func isFor(rest []byte) bool {
	after, ok := bytes.CutPrefix(rest, []byte("for"))
	return ok && (len(after) == 0 || !isLetter(after[0]) && !isDigit(after[0]) && after[0] != '-')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter reports whether c can begin a name. Beyond ASCII everything counts
// as a letter, though HCL knows better.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
