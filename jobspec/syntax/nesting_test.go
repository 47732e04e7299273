package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// reach returns the depth of a text's tokens, and the length of its longest run
// of texts.
func reach(text []byte) (n nesting, depth, path, pieces int) {
	tokens, _ := hclsyntax.LexConfig(text, "", start)
	for _, token := range tokens {
		n.follow(token)
		n.tokens++
		depth, path = max(depth, len(n.open)), max(path, n.path)
		for _, l := range n.open {
			pieces = max(pieces, l.pieces)
		}
	}
	return n, depth, path, pieces
}

// An unclosed bracket ends with the block around it: however many there are, they do
// not nest, and the parser is asked what is wrong with them.
func TestUnclosedBracketsDoNotNest(t *testing.T) {
	t.Parallel()
	for _, opener := range []string{"[", "(", "[(", "(["} {
		text := strings.Repeat("a {\n  b = "+opener+"\n}\n", maxDepth)
		if _, depth, _, _ := reach([]byte(text)); depth != 1+len(opener) {
			t.Errorf("blocks with an unclosed %s nest %d levels deep", opener, depth)
		}
	}
}

// reachOfTree returns the depth of a text's syntax tree.
func reachOfTree(body *hclsyntax.Body) (deepest int) {
	w := &depthWalker{}
	_ = hclsyntax.Walk(body, w)
	return w.deepest
}

type depthWalker struct{ depth, deepest int }

func (w *depthWalker) Enter(hclsyntax.Node) hcl.Diagnostics {
	w.depth++
	w.deepest = max(w.deepest, w.depth)
	return nil
}

func (w *depthWalker) Exit(hclsyntax.Node) hcl.Diagnostics {
	w.depth--
	return nil
}

// The parser's tree is never much deeper than its tokens suggest, and the
// number of tokens is limited by the bytes of the text. Only texts without
// syntax errors have a tree for the comparison: in others, brackets do not
// match, and the parser gives up a level when it notices.
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
		file, diags := hclsyntax.ParseConfig(text, "", start)
		n, depth, path, pieces := reach(text)
		if most := countBytes(text); depth > most.brackets || path > most.brackets+most.operators || n.tokens > 2*most.tokens+2 || pieces > most.pieces {
			t.Errorf("%d levels, a path of %d, %d tokens and %d pieces of text are more than %+v", depth, path, n.tokens, pieces, most)
		}
		if diags.HasErrors() {
			return
		}
		if deepest := reachOfTree(file.Body.(*hclsyntax.Body)); deepest > 5*path+10 {
			t.Errorf("the tree has %d levels, with a path of %d", deepest, path)
		}
		if len(n.open) > 0 {
			t.Errorf("brackets are left open: %v", n.open)
		}
	})
}
