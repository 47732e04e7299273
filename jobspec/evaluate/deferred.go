package evaluate

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A preparer walks through an expression. It never returns diagnostics.
type preparer struct {
	scope  *Scope
	ctx    *hcl.EvalContext
	strict bool                  // leave all references as they are
	bound  []map[string]struct{} // names of the enclosing for expressions
	texts  []*template           // enclosing JSON strings
	words  []hclsyntax.Node      // nodes in which names are plain words, not references
	quiet  int                   // how many of those are being visited
	trials []string              // enclosing calls that hide errors
}

// Enter is called for a node before its children.
func (p *preparer) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case hclsyntax.ChildScope:
		p.bound = append(p.bound, node.LocalNames)
	case *template:
		p.texts = append(p.texts, node)
	case *hclsyntax.FunctionCallExpr:
		p.enterCall(node)
	case *hclsyntax.ObjectConsKeyExpr:
		// A bare key is a name; with dots it is an error, which HCL explains.
		if _, bare := node.Wrapped.(*hclsyntax.ScopeTraversalExpr); bare && !node.ForceNonLiteral {
			p.words = append(p.words, node)
		}
	case *hclsyntax.ScopeTraversalExpr:
		if !p.strict && p.quiet == 0 && !p.isWord(node) && !p.inScope(node.Traversal.RootName()) {
			p.replace(node)
		}
	}
	if p.isWord(node) {
		p.quiet++
	}
	return nil
}

// Exit is called for a node after its children.
func (p *preparer) Exit(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case hclsyntax.ChildScope:
		p.bound = p.bound[:len(p.bound)-1]
	case *template:
		p.texts = p.texts[:len(p.texts)-1]
	case *hclsyntax.FunctionCallExpr:
		if hidesErrors(node) {
			p.trials = p.trials[:len(p.trials)-1]
		}
	}
	if p.quiet == 0 {
		p.scope.budget.meter(node)
	}
	if p.isWord(node) {
		p.quiet--
		p.words = p.words[:len(p.words)-1]
	}
	return nil
}

func (p *preparer) enterCall(call *hclsyntax.FunctionCallExpr) {
	if _, ok := p.scope.root.Functions[call.Name]; !ok && len(p.trials) > 0 {
		p.scope.hidden = append(p.scope.hidden, HiddenCall{call.Name, p.trials[len(p.trials)-1], call.NameRange})
	}
	if hidesErrors(call) {
		p.trials = append(p.trials, call.Name)
	}
	for i, arg := range call.Args {
		if isType(call, i) {
			p.words = append(p.words, arg)
		}
	}
}

// hidesErrors reports whether a call succeeds despite an error in an argument.
func hidesErrors(call *hclsyntax.FunctionCallExpr) bool {
	return call.Name == "can" || call.Name == "try"
}

func (p *preparer) isWord(node hclsyntax.Node) bool {
	return len(p.words) > 0 && p.words[len(p.words)-1] == node
}

func (p *preparer) inScope(name string) bool {
	for _, names := range p.bound {
		if _, ok := names[name]; ok {
			return true
		}
	}
	for ctx := p.ctx; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return true
		}
	}
	return false
}

// placeholder is the prefix of variables that hold the text of a reference. No
// file can contain such a name.
const placeholder = "\x00"

// DeferredText returns the text of a reference that has no value yet, given its
// variable in an evaluated expression.
func DeferredText(traversal hcl.Traversal) (string, bool) {
	return strings.CutPrefix(traversal.RootName(), placeholder)
}

// replace makes expr refer to a placeholder.
func (p *preparer) replace(expr *hclsyntax.ScopeTraversalExpr) {
	text, bare := p.text(expr.SrcRange)
	p.scope.deferred = append(p.scope.deferred, Reference{
		Root:  expr.Traversal.RootName(),
		Text:  text,
		Bare:  bare,
		Range: expr.SrcRange,
	})
	name := placeholder + text
	p.scope.Define(name, cty.StringVal(text))
	expr.Traversal = hcl.Traversal{hcl.TraverseRoot{Name: name, SrcRange: expr.SrcRange}}
}

// text returns the source of a reference including its ${ and }. They are those
// in the file, with spaces, if they directly enclose it, and otherwise new
// ones.
func (p *preparer) text(r hcl.Range) (text string, bare bool) {
	source, begin, end := p.scope.sources[r.Filename], r.Start.Byte, r.End.Byte
	if len(p.texts) > 0 {
		t := p.texts[len(p.texts)-1]
		source, begin, end = t.text, begin-t.offset, end-t.offset
	}
	if begin < 0 || end > len(source) || begin > end {
		return "${}", true // impossible: a range outside of its own source
	}

	opening, closing, bare := "${", "}", true
	if before := bytes.TrimRight(source[:begin], " "); bytes.HasSuffix(before, []byte(opening)) {
		opening, bare = string(source[len(before)-len(opening):begin]), false
		if after := bytes.TrimLeft(source[end:], " "); bytes.HasPrefix(after, []byte(closing)) {
			closing = string(source[end : len(source)-len(after)+len(closing)])
		}
	}
	return opening + string(source[begin:end]) + closing, bare
}
