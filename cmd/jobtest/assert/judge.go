// Package assert judges runs of job tests: it evaluates the conditions of a run
// against its outcome. It is pure: conditions and an outcome in, failures out.
package assert

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
)

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
		all = append(all, v.hide.failure(run.Range, "the run was ended", o.Unfinished))
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
	f := v.hide.failure(a.Range, "the condition is false", "")
	f.Condition, f.Targets = v.hide.clean(a.Text), v.looked
	if diags.HasErrors() {
		f.Diagnostic = v.hide.diagnostic(diags)
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

// message returns the error_message, or "" if it is missing or has an error.
func (v *view) message(a *jobtest.Assert) string {
	if a.Message == nil {
		return ""
	}
	text, diags := v.evaluate(a.Message)
	switch {
	case diags.HasErrors():
		return "(error_message: " + said(v.hide.diagnostic(diags)) + ")"
	case text.IsNull() || text.Type() != cty.String:
		return ""
	}
	return cut(v.hide.clean(text.AsString()), maxMessage)
}

// evaluate returns the value of an expression.
func (v *view) evaluate(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	v.secret = false
	scope := v.run.Scope(v.answer, v.values)
	return scope.Strict(expr, scope.Root())
}

// value adds the value of a part to a failure. Of a part with an error it shows what
// that part looks at.
func (v *view) value(f *Failure, expr hclsyntax.Expression, text string) {
	if len(f.Values) == maxValues {
		return
	}
	value, diags := v.evaluate(expr)
	if !diags.HasErrors() {
		shown := hidden
		if t := value.Type(); !v.secret || t == cty.Bool || t == cty.Number {
			shown = v.hide.show(value)
		}
		f.add(text, shown)
		return
	}
	inner := source(expr)
	if inner == nil {
		if what := said(v.hide.diagnostic(diags)); what != said(f.Diagnostic) {
			f.add(text, "error: "+what)
		}
		return
	}
	cutAt := min(inner.Range().End.Byte-expr.Range().Start.Byte, len(text))
	v.value(f, inner, text[:max(cutAt, 0)])
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
