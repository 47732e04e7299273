package decode

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/evaluate"
)

// A Remedy is the Extra of a diagnostic that says what to do about it.
type Remedy string

func fault(at hcl.Range, summary, detail, remedy string) *hcl.Diagnostic {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
	if remedy != "" {
		diag.Extra = Remedy(remedy)
	}
	return diag
}

func warning(at hcl.Range, summary, detail, remedy string) *hcl.Diagnostic {
	diag := fault(at, summary, detail, remedy)
	diag.Severity = hcl.DiagWarning
	return diag
}

func missingAttribute(name string, at, header hcl.Range) *hcl.Diagnostic {
	diag := fault(at, fmt.Sprintf("%q is missing", name), "", "")
	diag.Context = &header
	return diag
}

func duplicateBlock(in instance, first hcl.Range) *hcl.Diagnostic {
	return fault(in.header, fmt.Sprintf("%q is given twice", in.name),
		fmt.Sprintf("Only one is allowed here; the first is on line %d.", first.Start.Line), "")
}

func shadowedLabel(in instance, name string, first hcl.Range) *hcl.Diagnostic {
	return warning(in.header, fmt.Sprintf("%s %q is given twice", in.name, name),
		fmt.Sprintf("This one takes the place of the one on line %d.", first.Start.Line), "rename one of them, or delete it")
}

func shadowedAttribute(a attribute, header hcl.Range) *hcl.Diagnostic {
	return warning(a.at, fmt.Sprintf("%q is given as an attribute and as a block", a.name),
		fmt.Sprintf("The block on line %d takes its place.", header.Start.Line), "delete one of them")
}

func missingLabel(b block) *hcl.Diagnostic {
	return fault(b.open, fmt.Sprintf("this %s has no name", b.name), "",
		fmt.Sprintf(`write %s "name" {`, b.name))
}

func extraLabel(b block, at hcl.Range) *hcl.Diagnostic {
	detail := fmt.Sprintf("A %s block has one name.", b.name)
	if len(b.labels) == 1 {
		detail = fmt.Sprintf("A %s block has none.", b.name)
	}
	return fault(at, fmt.Sprintf("this name is not expected after %s", b.name), detail, "")
}

func blockInMap(b block, name string) *hcl.Diagnostic {
	return fault(b.header, fmt.Sprintf("a block is not expected in %s", name),
		"It holds nothing but attributes.", "")
}

func cannotIterate(v cty.Value, at hcl.Range) *hcl.Diagnostic {
	return fault(at, "for_each must be a list, a set, a map or an object", "it is "+describe(v), "")
}

// unsuitable says that an attribute cannot take its value, pointing at the
// element at fault where the expression has it in plain sight.
func unsuitable(name string, expr hclsyntax.Expression, v cty.Value, wanted string, err error) *hcl.Diagnostic {
	at := expr.Range()
	var inner elementError
	for e := err; errors.As(e, &inner); e = inner.err {
		element := v.Index(inner.key)
		if v.Type().IsObjectType() {
			element = v.GetAttr(inner.key.AsString())
		}
		v = element
		if expr = part(expr, inner.key); expr == nil {
			break
		}
		at = expr.Range()
	}
	return fault(at, fmt.Sprintf("%q must be %s", name, wanted), reason(v, err), remedyFor(wanted, v, err))
}

// part returns the expression of one element of a literal list or object.
func part(expr hclsyntax.Expression, key cty.Value) hclsyntax.Expression {
	switch expr := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		if i, _ := key.AsBigFloat().Int64(); int(i) < len(expr.Exprs) {
			return expr.Exprs[i]
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range expr.Items {
			if name, ok := evaluate.Literal(item.KeyExpr); ok && name == key.AsString() {
				return item.ValueExpr
			}
		}
	}
	return nil
}

func reason(v cty.Value, err error) string {
	if errors.Is(err, errNull) {
		return "It is null."
	}
	if text, ok := stringOf(v); ok && isReference(text) {
		return fmt.Sprintf("%s is known only when the task runs; this must be known before.", text)
	}
	detail := "It is " + describe(v)
	var remedied remediedError
	if errors.As(err, &remedied) || !v.Type().IsPrimitiveType() {
		return detail + "."
	}
	return detail + "."
}

func remedyFor(wanted string, v cty.Value, err error) string {
	if remedy := remedyOf(err); remedy != "" && !isReferenceValue(v) {
		return remedy
	}
	if wanted == "a list of strings" && !v.IsNull() && v.Type() == cty.String {
		return "write [" + strconv.Quote(v.AsString()) + "]"
	}
	return ""
}

func isReferenceValue(v cty.Value) bool {
	text, ok := stringOf(v)
	return ok && isReference(text)
}

func isReference(text string) bool { return len(text) > 3 && text[:2] == "${" }

func stringOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// describe names a value in a message.
func describe(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return "the string " + strconv.Quote(shorten(v.AsString()))
	case t == cty.Number:
		return "the number " + shorten(v.AsBigFloat().Text('g', 20))
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	case t.IsTupleType(), t.IsListType():
		return "a list"
	case t.IsSetType():
		return "a set"
	default:
		return "a " + t.FriendlyName()
	}
}

// shorten cuts a text that is too long for a message.
func shorten(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
