package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Value evaluates an expression of the job file in ctx, which is the root
// context of the scope or a descendant. Without errors the value is known,
// unless it depends on a variable whose value is missing.
func (s *Scope) Value(expr hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	if literal, ok := expr.(*hclsyntax.TemplateExpr); ok && literal.IsStringLiteral() {
		return literal.Value(nil)
	}
	concealed := s.Conceals(expr, ctx)
	s.budget.run()
	defer s.budget.recover(expr, &v, &diags)
	s.prepare(expr, ctx)
	v, diags = expr.Value(ctx)
	if concealed {
		s.note(s.InSource(expr.Range()), v)
	}
	if !diags.HasErrors() {
		s.budget.spend(v)
	}
	return v, diags
}

// SpendBlock pays for one generated block.
func (s *Scope) SpendBlock(at hcl.Range) hcl.Diagnostics {
	if s.budget.left -= blockPrice; s.budget.left < 0 {
		return hcl.Diagnostics{tooLarge(at)}
	}
	return nil
}

// Strict evaluates an expression that may refer only to the variables of ctx.
// If ctx is nil it may not contain references, like the default of a variable.
func (s *Scope) Strict(expr hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	s.budget.run()
	defer s.budget.recover(expr, &v, &diags)
	if native, ok := expr.(hclsyntax.Expression); ok {
		_ = hclsyntax.Walk(native, &preparer{scope: s, strict: true})
	}
	if v, diags = expr.Value(ctx); !diags.HasErrors() {
		s.budget.spend(v)
	}
	return v, diags
}

// prepare prepares an expression for its first evaluation: it replaces
// references to names without a value by their own text, and meters parts that
// can grow.
func (s *Scope) prepare(expr hclsyntax.Expression, ctx *hcl.EvalContext) {
	if _, done := s.prepared[expr]; done {
		return
	}
	s.prepared[expr] = struct{}{}
	_ = hclsyntax.Walk(expr, &preparer{scope: s, ctx: ctx})
}
