// Package evaluate gives the expressions of a job file their values. It adds
// three things to what HCL does: references to what is known only at run time
// have their own text as value, JSON strings are the templates they hold, and an
// evaluation that grows without bound ends in an error.
package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A Scope is what the expressions of one job file may refer to. It is not safe
// for use by several goroutines.
type Scope struct {
	root     *hcl.EvalContext
	sources  map[string][]byte
	prepared map[hclsyntax.Expression]struct{}
	deferred []Reference
	budget   *budget
	escapes  escapes
	conceal  concealing
}

// A Reference is one mention of a name that has no value yet.
type Reference struct {
	Root  string // first part of the name: "attr" of "attr.kernel.name"
	Text  string // its value: "${attr.kernel.name}"
	Bare  bool   // it is written without ${ and }
	Range hcl.Range
}

// NewScope returns a scope with functions and no variables. The sources, by
// file name, give the text of references.
func NewScope(functions map[string]function.Function, sources map[string][]byte) *Scope {
	return &Scope{
		root: &hcl.EvalContext{
			Functions: functions,
			Variables: map[string]cty.Value{},
		},
		sources:  sources,
		prepared: map[hclsyntax.Expression]struct{}{},
		budget:   &budget{left: wholeBudget},
	}
}

// Define sets a variable of the scope.
func (s *Scope) Define(name string, value cty.Value) { s.root.Variables[name] = value }

// Root returns the outermost context, to make child contexts from.
func (s *Scope) Root() *hcl.EvalContext { return s.root }

// Deferred returns the references met so far that have no value yet.
func (s *Scope) Deferred() []Reference { return s.deferred }

// Value evaluates an expression of the job file in ctx, which is the root
// context of the scope or a descendant of it. Without errors the value is
// known, unless it depends on a variable whose value is missing.
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
		s.note(expr, v)
	}
	if !diags.HasErrors() {
		s.budget.spend(v)
	}
	return v, diags
}

// SpendBlock takes the price of one generated block from the budget.
func (s *Scope) SpendBlock(at hcl.Range) hcl.Diagnostics { return s.budget.chargeBlock(at) }

// Strict evaluates an expression that may refer only to the variables of ctx; with
// a nil ctx it may refer to nothing, as in the default of a variable.
func (s *Scope) Strict(expr hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	s.budget.run()
	defer s.budget.recover(expr, &v, &diags)
	if native, ok := expr.(hclsyntax.Expression); ok {
		s.prepareStrict(native)
	}
	if v, diags = expr.Value(ctx); !diags.HasErrors() {
		s.budget.spend(v)
	}
	return v, diags
}
