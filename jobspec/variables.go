package jobspec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A variable is declared in a job file and set from outside.
//
// See https://developer.hashicorp.com/nomad/docs/reference/hcl2/variables.
type variable struct {
	name     string
	declared hcl.Range
	// typ is the declared type, or else that of the default. It is NilType
	// for a variable with neither.
	typ         cty.Type
	value       cty.Value // NilVal: not set
	origin      string    // what set the value, in words
	at          hcl.Range // of the value; without a file if it has none
	broken      bool      // already reported, say no more
	validations []validation
}

// variables are those of a file by name.
type variables map[string]*variable

func (vs variables) names() []string { return slices.Sorted(maps.Keys(vs)) }

// inOrder returns the variables as they were declared.
func (vs variables) inOrder() []*variable {
	return slices.SortedFunc(maps.Values(vs), func(a, b *variable) int {
		return cmp.Compare(a.declared.Start.Byte, b.declared.Start.Byte)
	})
}

// declareVariables reads the variable and variables blocks.
func (p *parser) declareVariables(content *hcl.BodyContent) hcl.Diagnostics {
	var diags hcl.Diagnostics
	p.variables = variables{}
	for _, block := range content.Blocks {
		switch block.Type {
		case "variable":
			diags = append(diags, p.declareVariable(block)...)
		case "variables":
			attributes, moreDiags := block.Body.JustAttributes()
			diags = append(diags, moreDiags...)
			for _, a := range inOrder(attributes) {
				v := &variable{name: a.Name, declared: a.NameRange}
				if p.declare(v, &diags) {
					diags = append(diags, p.setDefault(v, a.Expr)...)
				}
			}
		}
	}
	return diags
}

// declare adds a variable and reports whether the name was free.
func (p *parser) declare(v *variable, diags *hcl.Diagnostics) bool {
	if first := p.variables[v.name]; first != nil {
		*diags = append(*diags, problem(v.declared, fmt.Sprintf("variable %q is declared twice", v.name),
			fmt.Sprintf("The first declaration is on line %d.", first.declared.Start.Line), ""))
		return false
	}
	p.variables[v.name] = v
	return true
}

func variableSchema() *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "type"}, {Name: "default"}, {Name: "description"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "validation"}},
	}
}

func (p *parser) declareVariable(block *hcl.Block) hcl.Diagnostics {
	v := &variable{name: block.Labels[0], declared: hcl.RangeBetween(block.TypeRange, block.LabelRanges[0])}
	content, diags := block.Body.Content(variableSchema())
	if !p.declare(v, &diags) {
		return diags
	}
	if !hclsyntax.ValidIdentifier(v.name) {
		diags = append(diags, problem(block.LabelRanges[0], fmt.Sprintf("%q cannot be the name of a variable", v.name),
			"A name has letters, digits, _ and -, and begins with a letter or _.", ""))
	}
	if a := content.Attributes["type"]; a != nil {
		t, moreDiags := typeexpr.Type(a.Expr)
		if diags = append(diags, explainType(moreDiags)...); moreDiags.HasErrors() {
			v.broken = true
			return diags
		}
		v.typ = t
	}
	if a := content.Attributes["description"]; a != nil {
		_, moreDiags := p.constantText(a.Expr, "the description of a variable")
		diags = append(diags, moreDiags...)
	}
	if a := content.Attributes["default"]; a != nil {
		diags = append(diags, p.setDefault(v, a.Expr)...)
	}
	for _, inner := range content.Blocks {
		diags = append(diags, p.addValidation(v, inner)...)
	}
	return diags
}

// explainType adds what to write to the faults of a type expression.
func explainType(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, diag := range diags {
		if diag.Extra == nil {
			diag.Extra = remedyForType
		}
	}
	return diags
}

// setDefault evaluates the default of a variable, which may refer to nothing.
// Without a declared type, the type of the default is that of the variable.
func (p *parser) setDefault(v *variable, expr hcl.Expression) hcl.Diagnostics {
	value, diags := p.scope.Strict(expr, nil)
	if diags.HasErrors() {
		v.broken = true
		return explainConstant(diags, "the default of a variable")
	}
	if v.typ == cty.NilType {
		v.typ = value.Type()
	}
	diags = append(diags, v.set(value, "default", expr.Range())...)
	return diags
}

// set converts a value to the type of the variable and stores it.
func (v *variable) set(value cty.Value, origin string, at hcl.Range) hcl.Diagnostics {
	if v.typ != cty.NilType {
		converted, err := convert.Convert(value, v.typ)
		if err != nil {
			v.broken = true
			subject := at
			if at.Filename == "" {
				subject = v.declared
			}
			return hcl.Diagnostics{problem(subject,
				fmt.Sprintf("the %s of variable %q does not fit its type", origin, v.name),
				fmt.Sprintf("The type is %s: %s.", typeexpr.TypeString(v.typ), convert.MismatchMessage(value.Type(), v.typ)),
				v.typeHint())}
		}
		value = converted
	}
	v.value, v.origin, v.at = value, origin, at
	return nil
}

// typeHint tells how to widen a type that came from a default such as ["a"],
// which is a list of exactly one.
func (v *variable) typeHint() string {
	if v.value == cty.NilVal {
		return ""
	}
	switch {
	case v.typ.IsTupleType():
		return fmt.Sprintf("declare the type of %q: type = list(string)", v.name)
	case v.typ.IsObjectType():
		return fmt.Sprintf("declare the type of %q: type = map(string)", v.name)
	default:
		return ""
	}
}

// constantText evaluates an expression that must be a string and may refer to
// nothing.
func (p *parser) constantText(expr hcl.Expression, what string) (string, hcl.Diagnostics) {
	value, diags := p.scope.Strict(expr, nil)
	if diags.HasErrors() {
		return "", explainConstant(diags, what)
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() {
		return "", hcl.Diagnostics{problem(expr.Range(), what+" must be a string", "", "")}
	}
	return value.AsString(), nil
}

// explainConstant says where it is that nothing may be referred to.
func explainConstant(diags hcl.Diagnostics, where string) hcl.Diagnostics {
	for _, diag := range diags {
		switch diag.Summary {
		case "Variables not allowed":
			diag.Summary = where + " may not refer to anything"
			diag.Detail = ""
		case "Function calls not allowed":
			diag.Summary = where + " may not call functions"
			diag.Detail = ""
		}
	}
	return diags
}

// inOrder returns attributes as they stand in the source.
func inOrder(attributes hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attributes), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
}

func quote(name string) string { return fmt.Sprintf("%q", name) }

// isBlank reports whether there is nothing to read in text.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
