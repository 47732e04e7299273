package jobspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

const (
	maxLocalDepth = 500     // maximum length of a chain of references between locals
	maxLookups    = 1 << 20 // references between locals; a reference to all of them counts each
)

// evaluateLocals evaluates the locals in the order of their dependencies, and
// defines them for expressions as local.
func (p *parser) evaluateLocals(file *fileForm) {
	p.declareLocals(file)
	for _, l := range p.locals.inOrder() {
		p.evaluateLocal(l)
	}
	values := make(map[string]cty.Value, len(p.locals))
	for name, l := range p.locals {
		values[name] = l.value
	}
	p.scope.Define("local", cty.ObjectVal(values))
}

func (p *parser) declareLocals(file *fileForm) {
	p.locals = locals{}
	for _, block := range file.Locals {
		attributes, diags := block.Body.JustAttributes()
		p.report(diags...)
		for _, a := range decode.InOrder(attributes) {
			if first := p.locals[a.Name]; first != nil {
				p.warn(a.NameRange, fmt.Sprintf("local %q is given twice", a.Name),
					fmt.Sprintf("this one takes the place of the one on line %d", first.at.Start.Line), "rename one of them, or delete it")
			}
			expr, diags := p.scope.Native(a.Expr)
			p.report(diags...)
			p.locals[a.Name] = &local{name: a.Name, at: a.NameRange, expr: expr}
		}
	}
}

// evaluateLocal evaluates a local after those it refers to.
func (p *parser) evaluateLocal(l *local) {
	if l.value != cty.NilVal {
		return
	}
	if l.expr == nil || p.looked > maxLookups {
		l.value = unknown // reported already
		return
	}
	l.open, p.path = true, append(p.path, l.name)
	defer func() { l.open, p.path = false, p.path[:len(p.path)-1] }()
	if len(p.path) > maxLocalDepth {
		l.value = unknown
		p.refuse(l.at, "this local is too deep", fmt.Sprintf("each of %d locals refers to the next", maxLocalDepth), "")
		return
	}

	var circular hcl.Diagnostics
	members := map[string]cty.Value{}
	names := p.localsIn(l.expr)
	if p.looked += len(names); p.looked > maxLookups {
		l.value = unknown
		p.refuse(l.at, "the locals refer to each other too often", "", "")
		return
	}
	for _, name := range names {
		needed := p.locals[name]
		if needed == nil {
			continue // evaluation reports it, unless it is inside of try()
		}
		if needed.open {
			if circular == nil {
				circular = hcl.Diagnostics{p.circle(l, name)}
			}
			continue
		}
		p.evaluateLocal(needed)
		members[name] = needed.value
	}
	ctx := p.scope.Root().NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(members)}
	if p.scope.Conceals(l.expr, ctx) {
		p.scope.Conceal("local", l.name)
	}
	value, diags := p.scope.Value(l.expr, ctx)
	if l.value = value; diags.HasErrors() {
		l.value = unknown
		if circular != nil {
			diags = circular
		}
	}
	p.report(diags...)
}

// circle returns the error of a local that needs one that is being evaluated.
func (p *parser) circle(l *local, name string) *hcl.Diagnostic {
	round := append(slices.Clone(p.path[slices.Index(p.path, name):]), name)
	return diagnostic.Error(l.expr.Range(), fmt.Sprintf("local %q depends on itself", name), strings.Join(round, " → "), "")
}

// localsIn returns the names of the locals in an expression, or all of them if
// it refers to local as a whole.
func (p *parser) localsIn(expr hclsyntax.Expression) []string {
	var names []string
	for _, traversal := range expr.Variables() {
		if traversal.RootName() != "local" {
			continue
		}
		if len(traversal) == 1 {
			return slices.Collect(maps.Keys(p.locals))
		}
		if name, ok := evaluate.StepName(traversal, 1); ok {
			names = append(names, name)
		}
	}
	return names
}
