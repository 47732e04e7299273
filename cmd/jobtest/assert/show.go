package assert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
)

const (
	maxShown    = 400  // characters of a value
	maxText     = 120  // of a string in it
	maxElements = 8    // of a list in it
	maxMessage  = 2000 // of an error_message
	maxValues   = 50   // parts of a condition
	hidden      = "(hidden)"
)

// value adds the value of a part to a failure. Of a part with an error it shows what
// that part looks at.
func (v *view) value(f *Failure, expr hclsyntax.Expression, text string) {
	if len(f.Values) == maxValues {
		return
	}
	value, diags := v.evaluate(expr)
	if !diags.HasErrors() {
		f.add(text, v.show(value))
		return
	}
	inner := source(expr)
	if inner == nil {
		if what := said(v.diagnostic(diags)); what != said(f.Diagnostic) {
			f.add(text, "error: "+what)
		}
		return
	}
	cutAt := min(inner.Range().End.Byte-expr.Range().Start.Byte, len(text))
	v.value(f, inner, text[:max(cutAt, 0)])
}

// said is a diagnostic without its place.
func said(d jobspec.Diagnostic) string {
	d.Range = jobspec.Range{}
	return d.Error()
}

func (f *Failure) add(text, value string) {
	for _, v := range f.Values {
		if v.Text == text {
			return
		}
	}
	f.Values = append(f.Values, Value{text, value})
}

// source returns the expression of whose value another one is a part.
func source(expr hclsyntax.Expression) hclsyntax.Expression {
	switch expr := expr.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		if n := len(expr.Traversal); n > 1 {
			shorter := *expr
			last := expr.Traversal[n-2].(interface{ SourceRange() hcl.Range }).SourceRange()
			shorter.Traversal, shorter.SrcRange = expr.Traversal[:n-1], hcl.RangeBetween(expr.Source.Range(), last)
			return &shorter
		}
		return expr.Source
	case *hclsyntax.IndexExpr:
		return expr.Collection
	case *hclsyntax.SplatExpr:
		return expr.Source
	}
	return nil
}

// show returns a value in the words of HCL, shortened, without secrets.
func (v *view) show(value cty.Value) string {
	if v.secret && value.Type() != cty.Bool && value.Type() != cty.Number {
		return hidden
	}
	var b strings.Builder
	v.write(&b, value)
	return cut(b.String(), maxShown)
}

func (v *view) write(b *strings.Builder, value cty.Value) {
	t := value.Type()
	switch {
	case b.Len() > maxShown:
	case value.IsNull():
		b.WriteString("null")
	case !value.IsKnown():
		b.WriteString("(unknown)")
	case t == cty.String:
		b.WriteString(strconv.Quote(cut(v.hide(value.AsString()), maxText)))
	case t == cty.Number:
		b.WriteString(value.AsBigFloat().Text('f', -1))
	case t == cty.Bool:
		b.WriteString(strconv.FormatBool(value.True()))
	case t.Equals(jobtest.EventType):
		at := value.GetAttr("at").AsBigFloat().Text('f', -1)
		fmt.Fprintf(b, "%ss %s", at, value.GetAttr("type").AsString())
		if message := value.GetAttr("message").AsString(); message != "" {
			fmt.Fprintf(b, " (%s)", strconv.Quote(cut(v.hide(message), maxText)))
		}
	case t.IsMapType(), t.IsObjectType():
		v.writeMap(b, value)
	case t.IsListType(), t.IsTupleType(), t.IsSetType():
		v.writeList(b, value)
	default:
		b.WriteString(t.FriendlyName())
	}
}

func (v *view) writeMap(b *strings.Builder, value cty.Value) {
	b.WriteString("{")
	separator := ""
	for it := value.ElementIterator(); it.Next() && b.Len() <= maxShown; separator = ", " {
		name, element := it.Element()
		b.WriteString(separator + strconv.Quote(name.AsString()) + " = ")
		v.write(b, element)
	}
	b.WriteString("}")
}

func (v *view) writeList(b *strings.Builder, value cty.Value) {
	n := value.LengthInt()
	fmt.Fprintf(b, "[")
	i := 0
	for it := value.ElementIterator(); it.Next() && b.Len() <= maxShown; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxElements {
			fmt.Fprintf(b, "… %d in all", n)
			break
		}
		_, element := it.Element()
		v.write(b, element)
	}
	b.WriteString("]")
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
