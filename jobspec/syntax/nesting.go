package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The parser and the evaluator are recursive, and Go ends a program whose stack
// grows too large. The cost of numbers and long texts grows with the square of
// their length. So text beyond the needs of any job file is refused before it
// is parsed.
const (
	maxTokens = 2 << 20 // the parser needs about a hundred bytes for each
	maxDepth  = 500     // brackets, templates and blocks around one place
	maxPath   = 5000    // nested brackets and operators
	maxDigits = 400     // of a number
	maxCopied = 2 << 30 // bytes of text that the parser copies: see nesting.takeText
)

// nesting follows the tokens of a text, and computes how deep the parser's
// recursion gets and how much text it copies.
type nesting struct {
	open   []level
	path   int // brackets and operators around this place, or earlier in its expression
	copied int // bytes of text
	tokens int
	fresh  bool // the innermost brace contains only newlines and comments so far
	text   bool // the last token was text
}

// A level is an open bracket.
type level struct {
	opener hclsyntax.TokenType
	path   int
	items  bool // newlines separate its items: it is a block or an object
	begin  int  // offset where the uninterrupted text started
	pieces int  // pieces of text that the parser has to join
	parts  int  // texts and interpolations
}

var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOQuote: hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// take processes the next token, and returns which limit is exceeded, or "".
func (n *nesting) take(token hclsyntax.Token) (detail string) {
	n.tokens++
	n.follow(token)
	switch {
	case len(n.open) > maxDepth || n.path > maxPath:
		return "it nests too deep here"
	case n.tokens > maxTokens:
		return "it is too long"
	case token.Type == hclsyntax.TokenNumberLit && countBytes(token.Bytes).digits > maxDigits:
		return fmt.Sprintf("no number needs more than %d digits", maxDigits)
	case n.copied > maxCopied:
		return "the text has too many lines; a file beside the job file can hold it"
	}
	return ""
}

func (n *nesting) follow(token hclsyntax.Token) {
	var top level // the level around everything
	if len(n.open) > 0 {
		top = n.open[len(n.open)-1]
	}
	blank := token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenComment
	if n.fresh && !blank {
		n.fresh = false
		// A for expression continues after a newline.
		n.open[len(n.open)-1].items = string(token.Bytes) != "for"
	}
	joins := n.text
	n.text = false
	switch token.Type {
	case hclsyntax.TokenNewline:
		if len(n.open) == 0 || top.items {
			n.path = top.path
		}
	case hclsyntax.TokenComma:
		n.path = top.path
	case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
		n.takeText(token, joins)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
		hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		n.close(token.Type)
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenDot, hclsyntax.TokenEllipsis, hclsyntax.TokenEqual,
		hclsyntax.TokenComment, hclsyntax.TokenQuotedNewline, hclsyntax.TokenEOF:
	default: // an operator or a bracket
		n.path++
		if closers[token.Type] != 0 {
			n.open = append(n.open, level{opener: token.Type, path: n.path})
			n.fresh = token.Type == hclsyntax.TokenOBrace
		}
	}
}

// takeText processes a piece of text. The parser joins adjacent pieces one by
// one: each time it copies the text so far, and moves the parts that follow.
// The former takes about ten times as long, so the parts are counted, not their
// bytes.
func (n *nesting) takeText(token hclsyntax.Token, joins bool) {
	n.text = true
	if len(n.open) == 0 {
		return // after an unclosed string
	}
	top := &n.open[len(n.open)-1]
	top.parts++
	if !joins {
		top.begin = token.Range.Start.Byte
		return
	}
	top.pieces++
	n.copied += token.Range.End.Byte - top.begin + top.pieces + top.parts
}

// close ends the innermost level that this token can close, and with it the
// unclosed round and square brackets inside. A mismatched bracket is an error
// after which the parser gives up the level; keeping it here is the safe
// choice.
func (n *nesting) close(closer hclsyntax.TokenType) {
	at := len(n.open) - 1
	for closer != hclsyntax.TokenCBrack && closer != hclsyntax.TokenCParen && at >= 0 &&
		(n.open[at].opener == hclsyntax.TokenOBrack || n.open[at].opener == hclsyntax.TokenOParen) {
		at--
	}
	if at < 0 || closers[n.open[at].opener] != closer {
		return
	}
	// Its content counts once from here on: an index after an index makes the
	// tree deeper, but one interpolation after another does not.
	n.path = n.open[at].path
	if n.open[at].opener == hclsyntax.TokenTemplateInterp {
		n.path--
	}
	n.open = n.open[:at]
	if at > 0 {
		outer := &n.open[at-1]
		outer.parts++
		n.copied += outer.pieces
	}
}
