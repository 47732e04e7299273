package jobtest

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/evaluate"
)

// parts walks an expression and collects its calls, and the parts that have a
// value of their own.
type parts struct {
	source []byte
	found  []Part
	calls  []call
	bound  []map[string]struct{}   // names of the enclosing for expressions
	inner  map[hclsyntax.Node]bool // sources of parts, and parts that are not evaluated
	texts  map[string]bool         // of what was found
}

func partsOf(source []byte, expr hclsyntax.Expression) *parts {
	p := &parts{source: source, inner: map[hclsyntax.Node]bool{}, texts: map[string]bool{}}
	_ = hclsyntax.Walk(expr, p)
	return p
}

// textAt returns a stretch of the source.
func textAt(source []byte, at hcl.Range) string {
	if !at.CanSliceBytes(source) {
		return ""
	}
	return string(at.SliceBytes(source))
}

// Enter notes a node.
func (p *parts) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case hclsyntax.ChildScope:
		p.bound = append(p.bound, node.LocalNames)
	case *hclsyntax.FunctionCallExpr:
		p.called(node)
		if node.Name == "convert" && len(node.Args) == 2 {
			p.inner[node.Args[1]] = true // a type
		}
		p.part(node)
	case *hclsyntax.ScopeTraversalExpr:
		p.referred(node)
		p.part(node)
	case *hclsyntax.RelativeTraversalExpr:
		p.part(node)
		p.inner[node.Source] = true
	case *hclsyntax.IndexExpr:
		p.part(node)
		p.inner[node.Collection] = true
	case *hclsyntax.SplatExpr:
		p.part(node)
		p.inner[node.Source] = true
		_ = hclsyntax.VisitAll(node.Each, func(each hclsyntax.Node) hcl.Diagnostics {
			p.inner[each] = true
			return nil
		})
	}
	return nil
}

// Exit leaves a node.
func (p *parts) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(hclsyntax.ChildScope); ok {
		p.bound = p.bound[:len(p.bound)-1]
	}
	return nil
}

// part notes an expression, unless it is part of one that was noted or depends on
// the names of a for expression.
func (p *parts) part(expr hclsyntax.Expression) {
	if p.inner[expr] {
		return
	}
	for _, v := range expr.Variables() {
		if p.isBound(v.RootName()) {
			return
		}
	}
	text := textAt(p.source, expr.Range())
	if !p.texts[text] {
		p.texts[text] = true
		p.found = append(p.found, Part{expr, text})
	}
}

func (p *parts) isBound(name string) bool {
	return slices.ContainsFunc(p.bound, func(names map[string]struct{}) bool {
		_, ok := names[name]
		return ok
	})
}

func (p *parts) called(expr *hclsyntax.FunctionCallExpr) {
	c := call{name: expr.Name}
	for _, arg := range expr.Args {
		text, literal := evaluate.Literal(arg)
		if _, name := arg.(*hclsyntax.ScopeTraversalExpr); name {
			text, literal = "", false
		}
		c.args = append(c.args, argument{text, literal, arg.Range()})
	}
	p.calls = append(p.calls, c)
}

// referred notes the name that is looked up in a variable.
func (p *parts) referred(expr *hclsyntax.ScopeTraversalExpr) {
	if len(expr.Traversal) < 2 || p.isBound(expr.Traversal.RootName()) {
		return
	}
	c := call{name: expr.Traversal.RootName()}
	switch step := expr.Traversal[1].(type) {
	case hcl.TraverseAttr:
		c.args = []argument{{step.Name, true, step.SrcRange}}
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			c.args = []argument{{step.Key.AsString(), true, step.SrcRange}}
		}
	}
	p.calls = append(p.calls, c)
}

// assert reads an assertion. It inspects the expressions first, because their
// evaluation changes them.
func (r *reader) assert(f *assertForm) *Assert {
	a := &Assert{Message: f.Message, Range: f.Block.At("condition")}
	if f.Condition == nil { // which was reported
		return a
	}
	condition, diags := r.scope.Native(f.Condition)
	r.diags = append(r.diags, diags...)
	a.Condition, a.Text = condition, textAt(r.file.Text, a.Range)
	p := partsOf(r.file.Text, condition)
	a.Parts, a.calls = p.found, p.calls
	if message, ok := f.Message.(hclsyntax.Expression); ok {
		a.calls = append(a.calls, partsOf(r.file.Text, message).calls...)
	}
	if len(a.calls) == 0 {
		r.constant(a)
	}
	return a
}

// constant reports a condition that depends on nothing and is no bool.
func (r *reader) constant(a *Assert) {
	v, diags := a.Condition.Value(nil)
	if diags.HasErrors() || len(a.Condition.Variables()) > 0 {
		return // Check reports it, with the known names
	}
	if v.IsNull() || v.Type() != cty.Bool {
		r.diags = append(r.diags, NotBool(a.Range, v))
	}
}
