package decode

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

// freeForm returns the content of a body without a schema, such as the config
// of a task. Blocks become lists of maps, and so does an attribute written as
// an object: a driver then cannot tell the two apart, and need not. The top
// body drops attributes that are null.
func (d *Decoder) freeForm(in instance, place Place, top bool) map[string]any {
	c := d.anything(in.body)
	values := make(map[string]any, len(c.attributes)+len(c.blocks))
	for _, a := range c.attributes {
		place.Attr(a.Name, a.Expr.Range())
		expr, ok := d.native(a.Expr)
		if !ok {
			place.Lost(a.Name)
			continue
		}
		v, ok := d.evaluate(expr, in.ctx)
		if !ok {
			place.Lost(a.Name)
			continue
		}
		if top && v.IsNull() {
			continue
		}
		value, err := Plain(v, plainNumber)
		if err != nil {
			place.Lost(a.Name)
			d.report(diagnostic.Error(a.Expr.Range(), fmt.Sprintf("cannot use the value of %q", a.Name), err.Error(), ""))
			continue
		}
		if _, literal := a.Expr.(*hclsyntax.ObjectConsExpr); literal {
			value = []any{value}
		}
		values[a.Name] = value
		d.mark(a.Name, expr, place)
	}
	for name, found := range d.expand(c.blocks, in.ctx, nil) {
		for _, a := range c.attributes {
			if a.Name == name {
				d.report(diagnostic.Warning(a.NameRange, fmt.Sprintf("%q is given as an attribute and as a block", a.Name),
					fmt.Sprintf("the block on line %d takes its place", found[0].header.Start.Line), "delete one of them"))
			}
		}
		values[name] = d.freeFormBlocks(found, place)
	}
	return values
}

// freeFormBlocks returns blocks of one type as a list. Labels become maps of
// one key around the body, outermost first.
func (d *Decoder) freeFormBlocks(found []instance, place Place) []any {
	list := make([]any, len(found))
	for i, in := range found {
		inner := place.Item(in.name, i, "", in.header)
		for _, l := range in.labels {
			inner = inner.Item(l.text, 0, "", l.at)
		}
		var value any = d.freeForm(in, inner, false)
		for n := len(in.labels) - 1; n >= 0; n-- {
			value = map[string]any{in.labels[n].text: []any{value}}
		}
		list[i] = value
	}
	return list
}

// Plain returns v in the form of encoding/json; number converts numbers.
func Plain(v cty.Value, number func(*big.Float) (any, error)) (any, error) {
	switch t := v.Type(); {
	case v.IsNull():
		return nil, nil
	case !v.IsKnown():
		return nil, errors.New("it is not known")
	case t == cty.String:
		return v.AsString(), nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		return number(v.AsBigFloat())
	case t.IsListType(), t.IsSetType(), t.IsTupleType():
		list := make([]any, 0, v.LengthInt())
		for _, element := range v.Elements() {
			value, err := Plain(element, number)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case t.IsMapType(), t.IsObjectType():
		values := make(map[string]any, v.LengthInt())
		for key, element := range v.Elements() {
			value, err := Plain(element, number)
			if err != nil {
				return nil, err
			}
			values[key.AsString()] = value
		}
		return values, nil
	default:
		return nil, fmt.Errorf("a %s is not a value that can be kept", t.FriendlyName())
	}
}

// plainNumber returns an int if a number is whole.
func plainNumber(n *big.Float) (any, error) {
	if i, accuracy := n.Int64(); accuracy == big.Exact {
		return int(i), nil
	}
	f, _ := n.Float64()
	if n.IsInf() || f != 0 && f*2 == f {
		return nil, fmt.Errorf("the number is too large")
	}
	return f, nil
}
