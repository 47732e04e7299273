// Package diagnostic creates HCL diagnostics with a remedy.
package diagnostic

import "github.com/hashicorp/hcl/v2"

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
