// Package diagnostic makes HCL diagnostics that say, next to what is wrong,
// what to do about it.
package diagnostic

import "github.com/hashicorp/hcl/v2"

// remedy is the Extra of a diagnostic that knows one.
type remedy string

// Error returns a fault at a place. Detail and what to do about it may be
// empty.
func Error(at hcl.Range, summary, detail, whatToDo string) *hcl.Diagnostic {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
	SetRemedy(diag, whatToDo)
	return diag
}

// Warning returns a fault that does no harm.
func Warning(at hcl.Range, summary, detail, whatToDo string) *hcl.Diagnostic {
	diag := Error(at, summary, detail, whatToDo)
	diag.Severity = hcl.DiagWarning
	return diag
}

// SetRemedy adds what to do about a diagnostic, if there is something.
func SetRemedy(diag *hcl.Diagnostic, whatToDo string) {
	if whatToDo != "" {
		diag.Extra = remedy(whatToDo)
	}
}

// Remedy returns what to do about a diagnostic, or "".
func Remedy(diag *hcl.Diagnostic) string {
	text, _ := diag.Extra.(remedy)
	return string(text)
}
