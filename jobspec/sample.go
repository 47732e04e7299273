package jobspec

import (
	"maps"
	"slices"
	"time"

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

// fitTime limits the search for values. The last ones then stay as they are.
const fitTime = 2 * time.Second

// Fit parses a file again, with samples in place of the values of variables that
// Options.Outline allows to be missing. It chooses samples with which the file
// has the fewest errors: a variable without a type may be anything, and one of a
// type may have conditions. The function returns the number of errors of a file
// that could be parsed.
func Fit(src Source, opts Options, file *File, errors func(*File) int) *File {
	values := maps.Clone(opts.Values)
	if values == nil {
		values = map[string]VariableValue{}
	}
	opts.Values, opts.Placeholders = values, true
	set := func(u Unset, v cty.Value) { values[u.Name] = VariableValue{Value: v, Placeholder: u.Name} }
	parse := func() (*File, int) {
		parsed, diagnostics := Parse(src, opts)
		if parsed.Job != nil {
			return parsed, errors(parsed)
		}
		return parsed, 1_000_000 + len(diagnostics)
	}
	for _, u := range file.Unset {
		set(u, u.Samples[0])
	}
	began := time.Now()
	best, fewest := parse()
	for before := fewest + 1; fewest < before; { // a value can show what is wrong with another
		before = fewest
		for _, u := range file.Unset {
			chosen := values[u.Name].Value
			for _, candidate := range u.Samples {
				if fewest == 0 || time.Since(began) > fitTime {
					break
				}
				set(u, candidate)
				if parsed, n := parse(); n < fewest {
					best, fewest, chosen = parsed, n, candidate
				}
			}
			set(u, chosen)
		}
	}
	for i, u := range file.Unset {
		file.Unset[i].Samples = []cty.Value{values[u.Name].Value}
	}
	if best.Job == nil {
		return file
	}
	best.Unset = file.Unset
	return best
}
