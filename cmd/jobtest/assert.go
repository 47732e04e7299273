package jobtest

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// assert reads an assertion. What it says is looked at before it is evaluated,
// which changes the expressions.
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
		return // Check says so, with what there is
	}
	if v.IsNull() || v.Type() != cty.Bool {
		r.diags = append(r.diags, NotBool(a.Range, v))
	}
}
