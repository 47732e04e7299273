package evaluate

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// prepare makes an expression ready for its first evaluation: references to
// names without a value are replaced by their own text, and places that can
// grow are metered.
func (s *Scope) prepare(expr hclsyntax.Expression, ctx *hcl.EvalContext) {
	if _, done := s.prepared[expr]; done {
		return
	}
	s.prepared[expr] = struct{}{}
	_ = hclsyntax.Walk(expr, &preparer{scope: s, ctx: ctx})
}

// A preparer walks one expression. It never returns diagnostics.
type preparer struct {
	scope *Scope
	ctx   *hcl.EvalContext
	bound []map[string]struct{} // names of the enclosing for expressions
	texts []*template           // enclosing JSON strings
	types []hclsyntax.Node      // type expressions, in which names are keywords
	quiet int                   // depth inside of type expressions
}

// Enter is called for a node before its children.
func (p *preparer) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case hclsyntax.ChildScope:
		p.bound = append(p.bound, node.LocalNames)
	case *template:
		p.texts = append(p.texts, node)
	case *hclsyntax.FunctionCallExpr:
		if node.Name == "convert" && len(node.Args) > 1 {
			p.types = append(p.types, node.Args[1])
		}
	case *hclsyntax.ScopeTraversalExpr:
		if p.quiet == 0 && !p.isType(node) && !p.inScope(node.Traversal.RootName()) {
			p.replace(node)
		}
	}
	if p.isType(node) {
		p.quiet++
	}
	return nil
}

// Exit is called for a node after its children.
func (p *preparer) Exit(node hclsyntax.Node) hcl.Diagnostics {
	switch node.(type) {
	case hclsyntax.ChildScope:
		p.bound = p.bound[:len(p.bound)-1]
	case *template:
		p.texts = p.texts[:len(p.texts)-1]
	}
	if p.isType(node) {
		p.quiet--
		p.types = p.types[:len(p.types)-1]
	}
	p.scope.budget.meter(node)
	return nil
}

func (p *preparer) isType(node hclsyntax.Node) bool {
	return len(p.types) > 0 && p.types[len(p.types)-1] == node
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

// replace makes expr refer to a variable that holds the text of expr. No file
// can name that variable, because its name begins with NUL.
func (p *preparer) replace(expr *hclsyntax.ScopeTraversalExpr) {
	text := p.text(expr.SrcRange)
	p.scope.deferred = append(p.scope.deferred, Reference{
		Root:  expr.Traversal.RootName(),
		Text:  text,
		Range: expr.SrcRange,
	})
	name := "\x00" + text
	p.scope.Define(name, cty.StringVal(text))
	expr.Traversal = hcl.Traversal{hcl.TraverseRoot{Name: name, SrcRange: expr.SrcRange}}
}

// text returns the source of a reference with its ${ and }: those around it,
// blanks included, where it stands directly in them, else new ones.
func (p *preparer) text(r hcl.Range) string {
	source, begin, end := p.scope.sources[r.Filename], r.Start.Byte, r.End.Byte
	if len(p.texts) > 0 {
		t := p.texts[len(p.texts)-1]
		source, begin, end = t.text, begin-t.offset, end-t.offset
	}
	if begin < 0 || end > len(source) || begin > end {
		return "${}" // cannot be: a range outside of its own source
	}

	opening, closing := "${", "}"
	if before := bytes.TrimRight(source[:begin], " "); bytes.HasSuffix(before, []byte(opening)) {
		opening = string(source[len(before)-len(opening) : begin])
		if after := bytes.TrimLeft(source[end:], " "); bytes.HasPrefix(after, []byte(closing)) {
			closing = string(source[end : len(source)-len(after)+len(closing)])
		}
	}
	return opening + string(source[begin:end]) + closing
}
