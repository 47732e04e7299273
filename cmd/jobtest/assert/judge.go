// Package assert judges runs of job tests: it evaluates the conditions of a run
// against its outcome. It is pure: conditions and an outcome in, failures out.
package assert

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// Failure is why a run has failed. Its summary is the error_message of the
// condition, if it has one.
type Failure struct {
	jobspec.Diagnostic
	Condition string   // in the words of the file; empty if it is none that has failed
	Values    []Value  // of the parts of the condition
	Targets   []string // GROUP[INDEX]/TASK and GROUP[INDEX] that the condition looked at
}

// Value is what a part of a condition was.
type Value struct{ Text, Value string }

// Judge returns why a run has failed; nothing if it passed. A run fails
//
//   - if it was ended before it had ended or reached its until;
//   - if the condition of an assertion is false, has an error, or is no bool;
//   - if something that expect_failures names has not failed;
//   - if it has neither assertions nor a snapshot: if an allocation has failed, or
//     the exit code is not 0, unless expect_failures names what has failed.
//
// Of no value it shows more than a few words, and of no secret any. A run must not be
// judged by several goroutines at once.
func Judge(run *jobtest.Run, o *jobtest.Outcome) []Failure {
	v := newView(run, o)
	var all []Failure
	if o.Unfinished != "" {
		all = append(all, v.failure(run.Range, "the run was ended", o.Unfinished))
	}
	for _, a := range run.Asserts {
		if f := v.judge(a); f != nil {
			all = append(all, *f)
		}
	}
	all = append(all, v.expected()...)
	if len(run.Asserts) == 0 && run.Snapshot == "" && len(all) == 0 {
		all = append(all, v.unexpected()...)
	}
	return all
}

// failure returns one that no condition has caused.
func (v *view) failure(at hcl.Range, summary, detail string, targets ...string) Failure {
	return Failure{Diagnostic: jobspec.Diagnostic{
		Summary: v.clean(summary), Detail: v.clean(detail), Range: jobspec.RangeOf(at),
	}, Targets: targets}
}

// clean makes a text fit to be shown.
func (v *view) clean(text string) string { return visible.Text(v.hide(text)) }

// judge returns why an assertion fails; nil if it holds.
func (v *view) judge(a *jobtest.Assert) *Failure {
	v.looked = nil
	value, diags := v.evaluate(a.Condition)
	if !diags.HasErrors() && (value.IsNull() || value.Type() != cty.Bool || !value.IsKnown()) {
		diags = append(diags, jobtest.NotBool(a.Range, value))
	}
	if !diags.HasErrors() && value.True() {
		return nil
	}
	f := v.failure(a.Range, "the condition is false", "")
	f.Condition, f.Targets = v.clean(a.Text), v.looked
	if diags.HasErrors() {
		f.Diagnostic = v.diagnostic(diags)
	}
	for _, p := range a.Parts {
		v.value(&f, p.Expression, p.Text)
	}
	if message := v.message(a); message != "" {
		if diags.HasErrors() {
			f.Detail, f.Remedy = said(f.Diagnostic), ""
		}
		f.Summary = message
	}
	return &f
}

// diagnostic returns the first error as one for people.
func (v *view) diagnostic(diags hcl.Diagnostics) jobspec.Diagnostic {
	jobtest.Explain(diags)
	for _, d := range jobspec.DiagnosticsOf(diags, nil) {
		if d.Severity == jobspec.Error {
			d.Summary, d.Detail, d.Remedy = v.clean(d.Summary), v.clean(d.Detail), v.clean(d.Remedy)
			return d
		}
	}
	return jobspec.Diagnostic{}
}

// message returns the error_message; "" if there is none, or it has an error.
func (v *view) message(a *jobtest.Assert) string {
	if a.Message == nil {
		return ""
	}
	text, diags := v.evaluate(a.Message)
	switch {
	case diags.HasErrors():
		return "(error_message: " + said(v.diagnostic(diags)) + ")"
	case text.IsNull() || text.Type() != cty.String:
		return ""
	}
	return cut(v.clean(text.AsString()), maxMessage)
}

// evaluate returns the value of an expression.
func (v *view) evaluate(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	v.secret = false
	scope := v.run.Scope(v.answer, v.values)
	return scope.Strict(expr, scope.Root())
}
