package stub

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec"
	"taskrun/jobspec/decode"
)

// attributes returns the attributes of a body in the order of the text.
func (p *parser) attributes(body hcl.Body) []*hcl.Attribute {
	found, diags := body.JustAttributes()
	p.diags = append(p.diags, diags...)
	return decode.InOrder(found)
}

func (p *parser) values(body hcl.Body) {
	if p.set.Values == nil {
		p.set.Values = map[string]jobspec.VariableValue{}
	}
	for _, a := range p.attributes(body) {
		if _, again := p.set.Values[a.Name]; again {
			p.refuse(a.NameRange, fmt.Sprintf("variable %q is defined twice", a.Name), "", "remove one of them")
		}
		if v, ok := p.strict(a.Expr); ok {
			value := jobspec.VariableValue{Value: v, At: jobspec.RangeOf(a.Expr.Range())}
			if t, ok := p.todoIn(a.Expr.Range()); ok {
				value.Placeholder = t.Name
			}
			p.set.Values[a.Name] = value
		}
	}
}

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
		p.refuse(expr.Range(), "the value must be a string", "", `write "…", or jsonencode(…) of the value`)
		return ""
	}
	return text.AsString()
}

// data reads a block of JSON values.
func (p *parser) data(body hcl.Body) map[string]any {
	data := map[string]any{}
	for _, a := range p.attributes(body) {
		p.noteSecret(a)
		v, ok := p.strict(a.Expr)
		if !ok {
			continue
		}
		value, err := decode.Plain(v, written)
		if err != nil {
			p.refuse(a.Expr.Range(), "a secret cannot hold this value", err.Error(), "")
			continue
		}
		data[a.Name] = value
	}
	return data
}

// written returns a number as Vault's client decodes it from JSON: in its
// original form.
func written(n *big.Float) (any, error) { return json.Number(n.Text('f', -1)), nil }
