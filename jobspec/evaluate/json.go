package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/syntax"
)

// A template is the expression in a string of HCL's JSON syntax. Its ranges
// count in the decoded text, without escapes.
type template struct {
	hclsyntax.Expression

	at     hcl.Range // of the string in the file, with quotes
	text   []byte
	offset int // offset of the first byte of text in its ranges
}

// Range returns the range of the string in the file.
func (t *template) Range() hcl.Range { return t.at }

// StartRange returns the range of the string in the file.
func (t *template) StartRange() hcl.Range { return t.at }

// Native returns expr as an expression of the native syntax. Only expressions
// from a file in HCL's JSON syntax need a conversion.
func (s *Scope) Native(expr hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	if native, ok := expr.(hclsyntax.Expression); ok {
		return native, nil
	}
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		return s.nativeObject(expr, pairs)
	}
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() {
		return s.nativeTuple(expr, list)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return nil, diags
	}
	if text, isString := stringOf(v); isString {
		return s.nativeTemplate(expr.Range(), text)
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: expr.Range()}, nil
}

func (s *Scope) nativeTemplate(at hcl.Range, text string) (hclsyntax.Expression, hcl.Diagnostics) {
	start := at.Start
	start.Byte++ // the opening quote
	start.Column++
	if at.End.Byte-at.Start.Byte != len(text)+len(`""`) {
		s.escapes.add(at, len(text))
	}
	expr, diags := syntax.Template(text, at.Filename, start)
	if diags.HasErrors() {
		return nil, diags
	}
	return &template{Expression: expr, at: at, text: []byte(text), offset: start.Byte}, nil
}

func (s *Scope) nativeObject(expr hcl.Expression, pairs []hcl.KeyValuePair) (hclsyntax.Expression, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	items := make([]hclsyntax.ObjectConsItem, 0, len(pairs))
	for _, pair := range pairs {
		key, keyDiags := s.Native(pair.Key)
		value, valueDiags := s.Native(pair.Value)
		diags = append(append(diags, keyDiags...), valueDiags...)
		items = append(items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: value})
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return &hclsyntax.ObjectConsExpr{Items: items, SrcRange: expr.Range(), OpenRange: expr.StartRange()}, nil
}

func (s *Scope) nativeTuple(expr hcl.Expression, list []hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	elements := make([]hclsyntax.Expression, 0, len(list))
	for _, element := range list {
		native, moreDiags := s.Native(element)
		diags = append(diags, moreDiags...)
		elements = append(elements, native)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return &hclsyntax.TupleConsExpr{Exprs: elements, SrcRange: expr.Range(), OpenRange: expr.StartRange()}, nil
}

// Literal returns the text of an expression that is a bare name, like keys of
// objects, or a string without references.
func Literal(expr hclsyntax.Expression) (string, bool) {
	switch expr := expr.(type) {
	case *template:
		return Literal(expr.Expression)
	case *hclsyntax.ObjectConsKeyExpr:
		if expr.ForceNonLiteral {
			return "", false
		}
		return Literal(expr.Wrapped)
	case *hclsyntax.TemplateExpr:
		if !expr.IsStringLiteral() {
			return "", false
		}
		v, _ := expr.Value(nil)
		return stringOf(v)
	case *hclsyntax.LiteralValueExpr:
		return stringOf(expr.Val)
	default:
		name := hcl.ExprAsKeyword(expr)
		return name, name != ""
	}
}
