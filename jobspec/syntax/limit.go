package syntax

import (
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/diagnostic"
)

// Further limits are those of nesting.
const (
	maxSize    = 16 << 20  // bytes of a file
	maxScanned = 128 << 20 // bytes in which the scanner searches for the ends of comments
)

// checkText checks everything that is the same in every syntax.
func checkText(text []byte, name string) hcl.Diagnostics {
	if len(text) > maxSize {
		return hcl.Diagnostics{diagnostic.Error(RangeOf(text, name, 0, 0), "the file is too large",
			fmt.Sprintf("it has %d MiB; at most %d are read", len(text)>>20, maxSize>>20), "")}
	}
	// HCL's scanner treats some invalid UTF-8 as letters, including quotes and
	// brackets in it.
	if at := invalid(text); at >= 0 {
		return hcl.Diagnostics{diagnostic.Error(RangeOf(text, name, at, at+1), "this is not UTF-8", "", "save the file as UTF-8")}
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

func checkNative(text []byte, name string) hcl.Diagnostics {
	if diags := checkText(text, name); diags.HasErrors() {
		return diags
	}
	return check(text, name, hclsyntax.LexConfig, nil)
}

// A lexer is one of HCL's scanners. It is not recursive.
type lexer func(text []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// check checks the tokens of a text. Most texts have too few bytes of any kind
// to exceed a limit, and need no scan; others have so many that the scan is not
// even started.
func check(text []byte, name string, lex lexer, open []level) hcl.Diagnostics {
	c := countBytes(text)
	switch {
	case c.comments*len(text) > maxScanned:
		return hcl.Diagnostics{tooComplex(text, name, len(text), "too many comments are not closed")}
	case len(open)+c.brackets <= maxDepth && c.brackets+c.operators <= maxPath && c.digits <= maxDigits &&
		c.tokens <= maxTokens && c.pieces*(len(text)+2*c.pieces) <= maxCopied:
		return nil
	case len(text) > maxTokens && c.tokens > maxTokens:
		return hcl.Diagnostics{tooComplex(text, name, len(text), "it is too long")}
	}
	tokens, _ := lex(text, name, start)
	n := nesting{open: open}
	for _, token := range tokens {
		if detail := n.take(token); detail != "" {
			return hcl.Diagnostics{tooComplex(text, name, token.Range.End.Byte, detail)}
		}
	}
	return nil
}

// checkJSON checks a text in HCL's JSON syntax. The content of its strings is
// checked when they are parsed as templates.
func checkJSON(text []byte, name string) hcl.Diagnostics {
	if diags := checkText(text, name); diags.HasErrors() {
		return diags
	}
	return CheckNesting(text, name, maxTokens)
}

// CheckNesting refuses JSON that is nested too deep, has very long numbers, or
// more than maxTokens brackets, strings and commas.
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
	return diagnostic.Error(RangeOf(text, name, at, at), "this text is not read, because it could exhaust the machine", detail, "")
}
