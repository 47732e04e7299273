package syntax

import (
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/diagnostic"
)

// The parser and the evaluator recurse into what is nested, and Go ends a
// program whose stack grows too large. Numbers and long texts are read at a cost
// that grows with the square of their length. So what no job file needs is
// refused before it is parsed.
const (
	maxSize   = 16 << 20 // bytes of a file
	maxTokens = 2 << 20  // of which the parser keeps each in some hundred bytes
	maxDepth  = 500      // brackets, templates and blocks around one place
	maxPath   = 5000     // brackets and operators that nest, one in another
	maxDigits = 400      // of a number
	maxCopied = 2 << 30  // bytes of text that the parser copies: see scanner.piece
)

// checkText looks at what is the same in every syntax.
func checkText(text []byte, name string) hcl.Diagnostics {
	if len(text) > maxSize {
		return hcl.Diagnostics{diagnostic.Error(rangeOf(text, name, []int{0, 0}), "the file is too large",
			fmt.Sprintf("it has %d MiB; at most %d are read", len(text)>>20, maxSize>>20), "")}
	}
	// HCL's scanner takes some of what is no UTF-8 for letters, quotes and
	// brackets in it included.
	if at := invalid(text); at >= 0 {
		return hcl.Diagnostics{diagnostic.Error(rangeOf(text, name, []int{at, at + 1}), "this is not UTF-8", "", "save the file as UTF-8")}
	}
	return nil
}

// invalid returns the offset of the first byte that is not UTF-8, or -1.
func invalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// checkNative looks at a text in native syntax.
func checkNative(text []byte, name string) hcl.Diagnostics {
	if diags := checkText(text, name); diags.HasErrors() {
		return diags
	}
	s := scanner{text: text}
	return s.check(name)
}

// checkTemplate looks at the content of a string.
func checkTemplate(text []byte, name string) hcl.Diagnostics {
	s := scanner{text: text, open: []level{{bracket: bare}}}
	return s.check(name)
}

// check scans the text to its end or to the first limit it exceeds.
func (s *scanner) check(name string) hcl.Diagnostics {
	for s.at < len(s.text) {
		s.step()
		detail := ""
		switch {
		case len(s.open) > maxDepth || s.path > maxPath:
			detail = "it nests too deep here"
		case s.tokens > maxTokens:
			detail = "it is too long"
		case s.digits > maxDigits:
			detail = fmt.Sprintf("no number needs more than %d digits", maxDigits)
		case s.unclosed:
			return hcl.Diagnostics{s.unclosedComment(name)}
		case s.copied > maxCopied:
			detail = "the text has too many lines; a file beside the job file can hold it"
		default:
			continue
		}
		return hcl.Diagnostics{tooComplex(s.text, name, min(s.at, len(s.text)), detail)}
	}
	return nil
}

// unclosedComment points at the comment that has no end.
func (s *scanner) unclosedComment(name string) *hcl.Diagnostic {
	at := s.comment
	return diagnostic.Error(rangeOf(s.text, name, []int{at, at + len("/*")}), "this comment is not closed", "", "add */")
}

// checkJSON looks at a text in HCL's JSON syntax. What its strings hold is
// looked at when they are read as templates.
func checkJSON(text []byte, name string) hcl.Diagnostics {
	if diags := checkText(text, name); diags.HasErrors() {
		return diags
	}
	return CheckNesting(text, name, maxTokens)
}

// CheckNesting refuses JSON that nests too deep, has endless numbers, or more
// than that many brackets, strings and commas.
func CheckNesting(text []byte, name string, maxTokens int) hcl.Diagnostics {
	depth, digits, tokens := 0, 0, 0
	inString, escaped := false, false
	for i, c := range text {
		if inString {
			inString = escaped || c != '"'
			escaped = !escaped && c == '\\'
			continue
		}
		switch c {
		case '"':
			inString = true
			tokens++
		case '{', '[':
			depth++
			tokens++
		case '}', ']':
			depth--
			tokens++
		case ',', ':':
			tokens++
		}
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		detail := ""
		switch {
		case depth > maxDepth:
			detail = "it nests too deep here"
		case tokens > maxTokens:
			detail = "it is too long"
		case digits > maxDigits:
			detail = fmt.Sprintf("no number needs more than %d digits", maxDigits)
		default:
			continue
		}
		return hcl.Diagnostics{tooComplex(text, name, i, detail)}
	}
	return nil
}

func tooComplex(text []byte, name string, at int, detail string) *hcl.Diagnostic {
	return diagnostic.Error(rangeOf(text, name, []int{at, at}), "this text is not read, because it could exhaust the machine", detail, "")
}
