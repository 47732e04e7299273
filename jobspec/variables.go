package jobspec

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
)

func (p *parser) declareVariables(file *fileForm) {
	var declared []*variable
	for _, form := range file.Variables {
		v := &variable{name: form.Name, declared: form.Block.Header}
		declared = append(declared, v)
		p.read(v, form)
	}
	for _, block := range file.Defaults {
		attributes, diags := block.Body.JustAttributes()
		p.report(diags...)
		for _, a := range decode.InOrder(attributes) {
			v := &variable{name: a.Name, declared: a.NameRange}
			declared = append(declared, v)
			p.setDefault(v, a.Expr)
		}
	}
	slices.SortStableFunc(declared, byPlace)

	p.variables = variables{}
	for _, v := range declared {
		if first := p.variables[v.name]; first != nil {
			p.refuse(v.declared, fmt.Sprintf("variable %q is declared twice", v.name),
				fmt.Sprintf("the first declaration is on line %d", first.declared.Start.Line), "")
			continue
		}
		p.variables[v.name] = v
	}
}

// read fills in a variable from its block.
func (p *parser) read(v *variable, form *variableForm) {
	if !hclsyntax.ValidIdentifier(v.name) {
		p.refuse(form.Block.Label, fmt.Sprintf("%q cannot be the name of a variable", v.name),
			"a name has letters, digits, _ and -, and begins with a letter or _", "")
	}
	if form.Type != nil {
		t, diags := typeexpr.Type(form.Type)
		for _, diag := range diags {
			diagnostic.SetRemedy(diag, "write string, number, bool, list(string), set(string), map(string), object({…}) or tuple([…])")
		}
		if p.report(diags...); diags.HasErrors() {
			v.broken = true
			return
		}
		v.typ = t
	}
	if form.Description != nil {
		p.constantText(form.Description, "the description of a variable")
	}
	if form.Default != nil {
		p.setDefault(v, form.Default)
	}
	for _, rule := range form.Validations {
		p.addValidation(v, rule)
	}
}

// setDefault evaluates the default of a variable, which may not contain
// references. Without a declared type, the variable gets the type of the
// default.
func (p *parser) setDefault(v *variable, expr hcl.Expression) {
	value, ok := p.constant(expr, "the default of a variable")
	if !ok {
		v.broken = true
		return
	}
	if v.typ == cty.NilType {
		v.typ, v.inferred = value.Type(), true
	}
	p.set(v, value, "default", expr.Range())
}

// set sets a variable to a value that messages may show.
func (p *parser) set(v *variable, value cty.Value, origin string, at hcl.Range) {
	p.report(v.set(value, origin, at)...)
}

// set converts a value to the type of the variable and stores it.
func (v *variable) set(value cty.Value, origin string, at hcl.Range) hcl.Diagnostics {
	if v.typ != cty.NilType {
		converted, err := convert.Convert(value, v.typ)
		if err != nil {
			v.broken = true
			return hcl.Diagnostics{diagnostic.Error(at,
				fmt.Sprintf("the %s of variable %q does not fit its type", origin, v.name),
				fmt.Sprintf("the type is %s, and it is %s: %s", typeexpr.TypeString(v.typ), diagnostic.Describe(value), err),
				v.typeHint())}
		}
		value = converted
	}
	v.value, v.origin, v.at, v.placeholder = value, origin, at, ""
	return nil
}

// typeHint returns a remedy for a type inferred from a default such as ["a"],
// which is a tuple of exactly one element.
func (v *variable) typeHint() string {
	switch {
	case v.inferred && v.typ.IsTupleType():
		return fmt.Sprintf("declare the type of %q: type = list(string)", v.name)
	case v.inferred && v.typ.IsObjectType():
		return fmt.Sprintf("declare the type of %q: type = map(string)", v.name)
	default:
		return ""
	}
}

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
		if !slices.ContainsFunc(list, value.RawEquals) {
			list = append(list, value)
		}
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
