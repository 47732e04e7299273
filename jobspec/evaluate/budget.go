package evaluate

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/function"
)

const (
	// wholeBudget is what the expressions of one file may produce, in bytes:
	// many times what a job of ten thousand tasks needs.
	wholeBudget = 64 << 20
	// loopPrice is for one evaluation in a loop, whatever its result, and
	// partPrice for one of a part of another expression.
	loopPrice = 512
	partPrice = 16
	// blockPrice is for one block that a dynamic block generates.
	blockPrice = 4 << 10
)

// A budget bounds the memory and the time of evaluations. Values share their
// parts, loops nest, and so a few lines can ask for more than a machine has.
type budget struct {
	left    int
	running bool // recover is deferred
}

// overspent is what unwinds an evaluation when the budget is used up: HCL's
// loops collect errors and go on, so returning one would not end them.
type overspent struct{}

// spend takes the price of v from the budget, and panics when there is too
// little left; recover turns that into a diagnostic.
func (b *budget) spend(v cty.Value) {
	if b.left -= function.Size(v, max(b.left, 0)); b.left < 0 && b.running {
		panic(overspent{})
	}
}

func (b *budget) chargeBlock(at hcl.Range) hcl.Diagnostics {
	if b.left -= blockPrice; b.left < 0 {
		return hcl.Diagnostics{tooLarge(at)}
	}
	return nil
}

// run begins an evaluation; recover is deferred to its end.
func (b *budget) run() { b.running = true }

func (b *budget) recover(expr hcl.Expression, v *cty.Value, diags *hcl.Diagnostics) {
	b.running = false
	switch r := recover(); r.(type) {
	case nil:
	case overspent:
		*v, *diags = cty.DynamicVal, hcl.Diagnostics{tooLarge(expr.Range())}
	default:
		panic(r)
	}
}

func tooLarge(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "the values of this file grow too large",
		Detail:   fmt.Sprintf("the expressions of one file may produce %d MiB in all; the limit was reached here", wholeBudget>>20),
		Subject:  &at,
	}
}

// meter wraps the parts of a node that are evaluated many times, or whose
// results are written out or converted, so that each result is paid for.
func (b *budget) meter(node hclsyntax.Node) {
	switch node := node.(type) {
	case *hclsyntax.ForExpr:
		node.CollExpr = b.metered(node.CollExpr, loopPrice)
		node.KeyExpr = b.metered(node.KeyExpr, loopPrice)
		node.ValExpr = b.metered(node.ValExpr, loopPrice)
		node.CondExpr = b.metered(node.CondExpr, loopPrice)
	case *hclsyntax.ConditionalExpr:
		node.TrueResult = b.metered(node.TrueResult, partPrice)
		node.FalseResult = b.metered(node.FalseResult, partPrice)
	case *hclsyntax.FunctionCallExpr:
		for i, arg := range node.Args {
			if !isType(node, i) {
				node.Args[i] = b.metered(arg, partPrice)
			}
		}
	case *hclsyntax.TemplateExpr:
		for i, part := range node.Parts {
			if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal || !isString(part) {
				node.Parts[i] = b.metered(part, partPrice)
			}
		}
	}
}

func (b *budget) metered(expr hclsyntax.Expression, price int) hclsyntax.Expression {
	if expr == nil {
		return nil
	}
	return &metered{Expression: expr, budget: b, price: price}
}

// metered is an expression whose every value is paid for.
type metered struct {
	hclsyntax.Expression

	budget *budget
	price  int // of an evaluation, next to that of its value
}

// Value evaluates the expression and takes the price of its value.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := m.Expression.Value(ctx)
	m.budget.left -= m.price
	m.budget.spend(v)
	return v, diags
}

// isType reports whether the i-th argument of a call is a type, not a value.
func isType(call *hclsyntax.FunctionCallExpr, i int) bool {
	return call.Name == "convert" && i == 1
}

func isString(expr hclsyntax.Expression) bool {
	literal, ok := expr.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.Type() == cty.String
}

// stringOf returns the text of a known, non-null string.
func stringOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}
