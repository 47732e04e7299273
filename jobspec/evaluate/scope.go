// Package evaluate evaluates the expressions of a job file. It adds three
// things to HCL: references to names that are only known at run time evaluate
// to their own text, JSON strings are parsed as templates, and an evaluation
// that grows without bound ends with an error.
package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A Scope contains everything that the expressions of a job file may refer to.
// It is not safe for concurrent use.
type Scope struct {
	root     *hcl.EvalContext
	sources  map[string][]byte
	prepared map[hclsyntax.Expression]struct{}
	deferred []Reference
	budget   *budget
	escapes  escapes
	conceal  concealing
}

// A Reference is an occurrence of a name that has no value yet.
type Reference struct {
	Root  string // first part of the name: "attr" of "attr.kernel.name"
	Text  string // its value: "${attr.kernel.name}"
	Bare  bool   // it is written without ${ and }
	Range hcl.Range
}

// NewScope returns a scope with functions and no variables. Sources, by file
// name, provide the text of references.
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

// Root returns the outermost context, the parent of all others.
func (s *Scope) Root() *hcl.EvalContext { return s.root }

// Deferred returns the references found so far that have no value yet.
func (s *Scope) Deferred() []Reference { return s.deferred }

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
		s.note(expr, v)
	}
	if !diags.HasErrors() {
		s.budget.spend(v)
	}
	return v, diags
}

// SpendBlock pays for one generated block.
func (s *Scope) SpendBlock(at hcl.Range) hcl.Diagnostics { return s.budget.chargeBlock(at) }

// Strict evaluates an expression that may refer only to the variables of ctx.
// If ctx is nil it may not contain references, like the default of a variable.
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
