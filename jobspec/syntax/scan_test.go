package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// reach goes through a text and returns how deep it gets.
func reach(text []byte) (depth, path int) {
	s := scanner{text: text}
	for s.at < len(text) {
		s.step()
		depth, path = max(depth, len(s.open)), max(path, s.path)
	}
	return depth, path
}

// reachOfTokens does the same with the tokens of HCL's own scanner.
func reachOfTokens(text []byte) (depth, path int) {
	tokens, _ := hclsyntax.LexConfig(text, "", start)
	var open []level
	now := 0
	for i, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
			hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			now++
			open = append(open, level{path: now, items: token.Type == hclsyntax.TokenOBrace && !beginsFor(tokens[i+1:])})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if n := len(open); n > 0 {
				now = open[n-1].path - 1
				open = open[:n-1]
			}
		case hclsyntax.TokenNewline:
			if n := len(open); n == 0 {
				now = 0
			} else if open[n-1].items {
				now = open[n-1].path
			}
		case hclsyntax.TokenComma:
			if n := len(open); n > 0 {
				now = open[n-1].path
			}
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent,
			hclsyntax.TokenBang, hclsyntax.TokenQuestion, hclsyntax.TokenAnd, hclsyntax.TokenOr,
			hclsyntax.TokenLessThan, hclsyntax.TokenGreaterThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThanEq:
			now++
		}
		depth, path = max(depth, len(open)), max(path, now)
	}
	return depth, path
}

func beginsFor(tokens hclsyntax.Tokens) bool {
	for _, token := range tokens {
		if token.Type != hclsyntax.TokenNewline && token.Type != hclsyntax.TokenComment {
			return token.Type == hclsyntax.TokenIdent && string(token.Bytes) == "for"
		}
	}
	return false
}

// The scanner must never think that a text is flatter than it is. Only texts
// without syntax errors count: in others the brackets do not match, and the
// parser gives up a level where it finds that out.
func FuzzScannerGoesAsDeepAsHCL(f *testing.F) {
	seeds, err := filepath.Glob("../testdata/ok/*.nomad.hcl")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{
		"a = \"$${[\" # ]\nb = [1]", "a = <<E\n[[[\n${[1]}\nE\n", "a = <<-E\r\n]\r\n  E\r\nb = [[]]", "a = [ /* ] */ [ ] ]",
		"a = \"\\\"[\\\\\"", "a = \"%%{ [\" == \"%{ if [1] == [] }x%{ endif }\"", "a = {for k in [] : k => {\n}}",
		"a = { # c\n b = [1,\n2]\n}", "a = 1 // [\n", "a = \"${\"${\"${1}\"}\"}\"", "a = x-y-1 - -1", "a = <<E\nE E\n x E\nE\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 10_000 || !utf8.Valid(text) {
			return
		}
		if _, diags := hclsyntax.ParseConfig(text, "", start); diags.HasErrors() {
			return
		}
		depth, path := reach(text)
		wantDepth, wantPath := reachOfTokens(text)
		if depth < wantDepth || path < wantPath {
			t.Errorf("the scanner reaches %d levels and a path of %d, HCL %d and %d", depth, path, wantDepth, wantPath)
		}
		if strings.Count(string(text), "[")+strings.Count(string(text), "{")+strings.Count(string(text), "(")+
			strings.Count(string(text), `"`)+strings.Count(string(text), "<<") < depth {
			t.Errorf("the scanner reaches %d levels, more than there are brackets", depth)
		}
	})
}

func TestScannerIsExactOnJobFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/ok/*.nomad.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		depth, _ := reach(text)
		if want, _ := reachOfTokens(text); depth != want {
			t.Errorf("%s: depth %d, want %d", file, depth, want)
		}
	}
}
