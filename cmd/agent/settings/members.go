package settings

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// member is a name in a file, with its value: an expression, or the content of a
// block. The label of a block counts as the name of a member in it, as in JSON.
type member struct {
	name   string
	at     hcl.Range
	expr   hcl.Expression // nil for a block
	inside []member       // of a block
}

// membersOf returns the members of a body, in the order of the file.
func membersOf(body hcl.Body) (list []member, diags hcl.Diagnostics) {
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		native = &hclsyntax.Body{}
		attributes, more := body.JustAttributes()
		for _, a := range attributes {
			list = append(list, member{name: a.Name, at: a.NameRange, expr: a.Expr})
		}
		diags = more
	}
	for _, a := range native.Attributes {
		list = append(list, member{name: a.Name, at: a.NameRange, expr: a.Expr})
	}
	for _, b := range native.Blocks {
		inside, more := membersOf(b.Body)
		diags = append(diags, more...)
		for i, label := range slices.Backward(b.Labels) {
			inside = []member{{name: label, at: b.LabelRanges[i], inside: inside}}
		}
		list = append(list, member{name: b.Type, at: b.TypeRange, inside: inside})
	}
	slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(a.at.Start.Byte, b.at.Start.Byte) })
	return list, diags
}

// members returns what is in a block, an object, or a list of objects.
func (m member) members() (list []member, ok bool) {
	if m.expr == nil {
		return m.inside, true
	}
	return inside(m.expr)
}

func inside(expr hcl.Expression) (list []member, ok bool) {
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		for _, item := range items {
			more, ok := inside(item)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	}
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil, false
	}
	for _, p := range pairs {
		key, diags := p.Key.Value(nil)
		name, isText := textOf(key)
		if diags.HasErrors() || !isText {
			return nil, false
		}
		list = append(list, member{name: name, at: p.Key.Range(), expr: p.Value})
	}
	return list, true
}

func textOf(val cty.Value) (string, bool) {
	val, err := convert.Convert(val, cty.String)
	if err != nil || val.IsNull() || !val.IsKnown() {
		return "", false
	}
	return val.AsString(), true
}
