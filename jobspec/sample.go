package jobspec

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// usual are values that job files expect of variables that are texts.
var usual = []string{
	"1", "10s", "256", "8080", "127.0.0.1", "@daily", "docker", "service", "host", "true", "TODO=1",
	"0 9 * * MON-FRI *", "0 17", "/dev/null",
}

// samples returns values that may suit a variable without one. Their texts are
// those of placeholders of its name, if possible.
func (v *variable) samples() (list []cty.Value) {
	add := func(value cty.Value) {
		if v.typ != cty.NilType {
			converted, err := convert.Convert(value, v.typ)
			if err != nil {
				return
			}
			value = converted
		}
		for _, other := range list {
			if other.RawEquals(value) {
				return
			}
		}
		list = append(list, value)
	}
	first := cty.StringVal("TODO-" + v.name)
	if v.typ != cty.NilType {
		first = sample(v.typ, v.name)
	}
	add(first)
	for _, rule := range v.validations {
		expr, ok := rule.condition.(hclsyntax.Expression)
		if !ok {
			continue
		}
		_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
			if literal, ok := n.(*hclsyntax.LiteralValueExpr); ok && len(list) < 20 && !literal.Val.IsNull() {
				add(literal.Val)
				add(cty.ListVal([]cty.Value{literal.Val}))
			}
			return nil
		})
	}
	for _, text := range slices.Concat(usual, []string{v.declared.Filename}) { // a file that exists
		add(cty.StringVal(text))
	}
	if v.typ == cty.NilType {
		add(cty.ListVal([]cty.Value{first}))
		add(cty.EmptyObjectVal)
	}
	return list
}

// sample returns a value of a type, with texts made of a name.
func sample(t cty.Type, name string) cty.Value {
	switch {
	case t == cty.Number:
		return cty.NumberIntVal(1)
	case t == cty.Bool:
		return cty.False
	case t.IsListType():
		return cty.ListVal([]cty.Value{sample(t.ElementType(), name)})
	case t.IsSetType():
		return cty.SetVal([]cty.Value{sample(t.ElementType(), name)})
	case t.IsMapType():
		return cty.MapValEmpty(t.ElementType())
	case t.IsTupleType():
		elements := make([]cty.Value, t.Length())
		for i, element := range t.TupleElementTypes() {
			elements[i] = sample(element, name)
		}
		return cty.TupleVal(elements)
	case t.IsObjectType():
		fields := map[string]cty.Value{}
		for field, of := range t.AttributeTypes() {
			fields[field] = sample(of, name+"."+field)
		}
		return cty.ObjectVal(fields)
	}
	return cty.StringVal("TODO-" + name)
}
