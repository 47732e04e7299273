package decode

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// attribute stores the value of an attribute in its field.
func (d *Decoder) attribute(a attribute, f *field, target reflect.Value, ctx *hcl.EvalContext, place Place) {
	if !d.value(a.name, a.expr, target, ctx) {
		return
	}
	if target.Kind() == reflect.Map {
		d.mark(a.name, a.expr, place)
	}
}

// value evaluates an expression and stores it in target. It reports whether
// that went well.
func (d *Decoder) value(name string, expr hclsyntax.Expression, target reflect.Value, ctx *hcl.EvalContext) bool {
	v, diags := d.Scope.Value(expr, ctx)
	d.report(diags...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return false // what is unknown has been reported where it is missing
	}
	stored, err := assign(target, v)
	if err != nil {
		d.report(unsuitable(name, expr, v, stored, err))
		return false
	}
	if target.Type() == durationType || target.Type() == durationPointer {
		d.warnOfNanoseconds(name, expr, v)
	}
	return true
}

// assign converts v to the type of target and stores it there. On failure it
// returns what target would take, in words.
func assign(target reflect.Value, v cty.Value) (wanted string, err error) {
	t := target.Type()
	if t == durationType {
		return assignDuration(target, v)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNull() {
			return "", nil
		}
		p := reflect.New(t.Elem())
		if wanted, err := assign(p.Elem(), v); err != nil {
			return wanted, err
		}
		target.Set(p)
		return "", nil
	case reflect.Slice:
		return assignList(target, v)
	case reflect.Map:
		return assignMap(target, v)
	default:
		return assignScalar(target, v)
	}
}
