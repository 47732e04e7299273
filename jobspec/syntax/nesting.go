package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// nesting follows the tokens of a text and keeps account of how deep the parser
// recurses into them, and how much text it copies.
type nesting struct {
	open   []level
	path   int // brackets and operators around this place, or before it in its expression
	copied int // bytes of text
	tokens int
	fresh  bool // nothing but newlines and comments so far in the innermost brace
	text   bool // the last token was text
}

// A level is an open bracket.
type level struct {
	opener hclsyntax.TokenType
	path   int
	items  bool // newlines end what is in it: it is a block or an object
	begin  int  // offset where the text began that no interpolation interrupts
	pieces int  // of text so far that the parser joins to the one before
	parts  int  // texts and interpolations so far
}

var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOQuote: hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// take takes the next token and returns which limit is exceeded, if any.
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
	var top level // what is around everything
	if len(n.open) > 0 {
		top = n.open[len(n.open)-1]
	}
	blank := token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenComment
	if n.fresh && !blank {
		n.fresh = false
		// A for expression goes on after a newline.
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

// takeText takes a piece of text. The parser joins adjacent pieces one by one:
// each time it copies the text so far, and moves the parts that follow. The
// former takes some ten times as long, hence the count of parts for their bytes.
func (n *nesting) takeText(token hclsyntax.Token, joins bool) {
	n.text = true
	if len(n.open) == 0 {
		return // behind an unclosed string
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

// close ends the innermost level that this token can end, and with it the round
// and square brackets that were left open in it. A bracket in the place of
// another is an error that makes the parser give up the level; to keep it here
// errs on the safe side.
func (n *nesting) close(closer hclsyntax.TokenType) {
	at := len(n.open) - 1
	for closer != hclsyntax.TokenCBrack && closer != hclsyntax.TokenCParen && at >= 0 &&
		(n.open[at].opener == hclsyntax.TokenOBrack || n.open[at].opener == hclsyntax.TokenOParen) {
		at--
	}
	if at < 0 || closers[n.open[at].opener] != closer {
		return
	}
	// What it held counts once from here on: an index after an index makes the
	// tree deeper. Not so one interpolation after another.
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
