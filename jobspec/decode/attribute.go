package decode

import (
	"fmt"
	"reflect"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

var expressionType = reflect.TypeFor[hcl.Expression]()

// attribute stores the value of an attribute in a field. It reports whether
// that succeeded.
func (d *Decoder) attribute(a *hcl.Attribute, target reflect.Value, ctx *hcl.EvalContext, place Place) bool {
	if target.Type() == expressionType {
		target.Set(reflect.ValueOf(a.Expr))
		return true
	}
	expr, ok := d.native(a.Expr)
	if !ok || !d.value(a.Name, expr, target, ctx) {
		return false
	}
	if target.Kind() == reflect.Map {
		d.mark(a.Name, expr, place)
	}
	return true
}

// native returns the expression in native syntax, if it can be read as one.
func (d *Decoder) native(expr hcl.Expression) (hclsyntax.Expression, bool) {
	native, diags := d.Scope.Native(expr)
	d.report(diags...)
	return native, native != nil
}

// value evaluates an expression and stores it in target. It reports whether
// that succeeded.
func (d *Decoder) value(name string, expr hclsyntax.Expression, target reflect.Value, ctx *hcl.EvalContext) bool {
	v, ok := d.evaluate(expr, ctx)
	if !ok {
		return false
	}
	if m := assign(target, v); m != nil {
		d.report(m.diagnose(name, expr))
		return false
	}
	if target.Type() == durationType || target.Type() == durationPointer {
		d.warnOfNanoseconds(name, expr, v)
	}
	return true
}

// evaluate returns the value of an expression, if it has one. It does not
// report an unknown value, whose cause was reported before.
func (d *Decoder) evaluate(expr hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	v, diags := d.Scope.Value(expr, ctx)
	d.report(diags...)
	return v, !diags.HasErrors() && v.IsWhollyKnown()
}

// warnOfNanoseconds returns a warning for a number without a unit that was
// meant as seconds: Nomad reads nanoseconds.
func (d *Decoder) warnOfNanoseconds(name string, expr hclsyntax.Expression, v cty.Value) {
	if v.IsNull() || v.Type() != cty.Number {
		return
	}
	n, _ := v.AsBigFloat().Int64()
	if n == 0 || time.Duration(n).Abs() >= time.Millisecond {
		return
	}
	d.report(diagnostic.Warning(expr.Range(), fmt.Sprintf("%q is %d nanoseconds", name, n),
		"a duration without a unit counts nanoseconds", fmt.Sprintf(`write "%ds" for seconds`, n)))
}
