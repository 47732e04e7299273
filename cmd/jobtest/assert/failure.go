package assert

import (
	"github.com/hashicorp/hcl/v2"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
)

// Failure is why a run has failed. Its summary is the error_message of the
// condition, if it has one.
type Failure struct {
	jobspec.Diagnostic
	Condition string   // as in the file; empty if no condition has failed
	Values    []Value  // of the parts of the condition
	Targets   []string // GROUP[INDEX]/TASK and GROUP[INDEX] that the condition looked at
}

// Value is the value of a part of a condition.
type Value struct{ Text, Value string }

func (f *Failure) add(text, value string) {
	for _, v := range f.Values {
		if v.Text == text {
			return
		}
	}
	f.Values = append(f.Values, Value{text, value})
}

// failure returns one that no condition has caused.
func (hide mask) failure(at hcl.Range, summary, detail string, targets ...string) Failure {
	return Failure{Diagnostic: jobspec.Diagnostic{
		Summary: hide.clean(summary), Detail: hide.clean(detail), Range: jobspec.RangeOf(at),
	}, Targets: targets}
}

// diagnostic returns the first error as one for people.
func (hide mask) diagnostic(diags hcl.Diagnostics) jobspec.Diagnostic {
	jobtest.Explain(diags)
	for _, d := range jobspec.DiagnosticsOf(diags, nil) {
		if d.Severity == jobspec.Error {
			d.Summary, d.Detail, d.Remedy = hide.clean(d.Summary), hide.clean(d.Detail), hide.clean(d.Remedy)
			return d
		}
	}
	return jobspec.Diagnostic{}
}

// said is a diagnostic without its place.
func said(d jobspec.Diagnostic) string {
	d.Range = jobspec.Range{}
	return d.Error()
}
