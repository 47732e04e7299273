package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec"
)

// attributes returns those of a body in the order of the text.
func (p *parser) attributes(body hcl.Body) []*hcl.Attribute {
	found, diags := body.JustAttributes()
	p.diags = append(p.diags, diags...)
	return slices.SortedFunc(maps.Values(found), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
}

// values reads a variables block.
func (p *parser) values(body hcl.Body) {
	if p.world.Values == nil {
		p.world.Values = map[string]jobspec.VariableValue{}
	}
	for _, a := range p.attributes(body) {
		if _, again := p.world.Values[a.Name]; again {
			p.fault(a.NameRange, fmt.Sprintf("variable %q is there twice", a.Name), "", "remove one of them")
		}
		if v, ok := p.strict(a.Expr); ok {
			p.world.Values[a.Name] = jobspec.VariableValue{Value: v, At: jobspec.RangeOf(a.Expr.Range())}
		}
	}
}

// texts reads a block of texts.
func (p *parser) texts(body hcl.Body) map[string]string {
	texts := map[string]string{}
	for _, a := range p.attributes(body) {
		p.noteSecret(a)
		texts[a.Name] = p.text(a.Expr)
	}
	return texts
}

func (p *parser) text(expr hcl.Expression) string {
	v, ok := p.strict(expr)
	if !ok {
		return ""
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		p.fault(expr.Range(), "the value must be a text", "", `write "…", or jsonencode(…) of what it is`)
		return ""
	}
	return text.AsString()
}

// data reads a block of anything that JSON can hold.
func (p *parser) data(body hcl.Body) map[string]any {
	data := map[string]any{}
	for _, a := range p.attributes(body) {
		p.noteSecret(a)
		v, ok := p.strict(a.Expr)
		if !ok {
			continue
		}
		value, err := plain(v)
		if err != nil {
			p.fault(a.Expr.Range(), "a secret cannot hold this value", err.Error(), "")
			continue
		}
		data[a.Name] = value
	}
	return data
}

// plain returns a value as Vault's client decodes it from JSON: numbers stay as
// they were written.
func plain(v cty.Value) (any, error) {
	switch t := v.Type(); {
	case v.IsNull():
		return nil, nil
	case !v.IsWhollyKnown():
		return nil, fmt.Errorf("it is not known")
	case t == cty.String:
		return v.AsString(), nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		return json.Number(v.AsBigFloat().Text('f', -1)), nil
	case t.IsListType(), t.IsSetType(), t.IsTupleType():
		list := make([]any, 0, v.LengthInt())
		for _, element := range v.Elements() {
			value, err := plain(element)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case t.IsMapType(), t.IsObjectType():
		values := map[string]any{}
		for key, element := range v.Elements() {
			value, err := plain(element)
			if err != nil {
				return nil, err
			}
			values[key.AsString()] = value
		}
		return values, nil
	default:
		return nil, fmt.Errorf("it is a %s", t.FriendlyName())
	}
}
