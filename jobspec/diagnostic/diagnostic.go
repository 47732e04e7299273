// Package diagnostic creates HCL diagnostics with a remedy.
package diagnostic

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// remedy is the Extra of a diagnostic with a remedy.
type remedy string

// Error returns an error at a place. The detail and the remedy may be empty.
func Error(at hcl.Range, summary, detail, text string) *hcl.Diagnostic {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
	SetRemedy(diag, text)
	return diag
}

// Warning returns a warning at a place.
func Warning(at hcl.Range, summary, detail, text string) *hcl.Diagnostic {
	diag := Error(at, summary, detail, text)
	diag.Severity = hcl.DiagWarning
	return diag
}

// SetRemedy adds a remedy to a diagnostic, unless it is empty.
func SetRemedy(diag *hcl.Diagnostic, text string) {
	if text != "" {
		diag.Extra = remedy(text)
	}
}

// Remedy returns the remedy of a diagnostic, or "".
func Remedy(diag *hcl.Diagnostic) string {
	text, _ := diag.Extra.(remedy)
	return string(text)
}

// Describe names a known value in a message: `the string "a"`, "a list".
func Describe(v cty.Value) string {
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

func shorten(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
