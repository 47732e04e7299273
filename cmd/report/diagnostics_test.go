package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/outcome"
	"taskrun/cmd/report"
	"taskrun/jobspec"
)

// Diagnostics become commands of GitHub, which nothing in them can end.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	prefixed := func(path string) string { return "repo/" + path }
	for want, d := range map[string]jobspec.Diagnostic{
		"::error file=repo/a%2Cb%3Ac%25.hcl,line=7,col=5,endLine=7,endColumn=19::100%25%0Adetail%0Aremedy": {
			Severity: jobspec.Error, Summary: "100%", Detail: "detail", Remedy: "remedy", Range: at("a,b:c%.hcl", 7),
		},
		"::warning::beware":  {Severity: jobspec.Warning, Summary: "beware"},
		"::notice::a%0Ahint": {Severity: jobspec.Hint, Summary: "a", Remedy: "hint"},
	} {
		if got := report.Annotation(d, prefixed); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of refused job files the report has all errors, and no warnings.
func TestRefused(t *testing.T) {
	t.Parallel()
	facts := report.Facts{
		Command: "taskrun up", Version: "1.2.3", Host: "ci-1", Began: began, Result: outcome.Result{ExitCode: 2},
		Diagnostics: jobspec.Diagnostics{
			{Severity: jobspec.Error, Summary: "first"}, {Severity: jobspec.Warning, Summary: "beware"}, {Severity: jobspec.Error, Summary: "second"},
		},
	}
	want := []report.Suite{{
		Name: "taskrun up", Began: began, Host: "ci-1", Properties: []report.Property{{"taskrun.version", "1.2.3"}, {"exit_code", "2"}},
		Cases: []report.Case{{Class: "taskrun up", Name: "job files are valid", Failures: []report.Failed{{"diagnostic", "first", "FIRST"}, {"diagnostic", "second", "SECOND"}}}},
	}}
	got := report.Refused(facts, func(d jobspec.Diagnostic) string { return strings.ToUpper(d.Summary) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Characters that XML or a reader of it does not keep are spelled.
func TestCharactersInJUnit(t *testing.T) {
	t.Parallel()
	got := string(report.JUnit("\x1f ~\x7f\u0080\u009f\u00a0\xff\ufffe\uffff\U00010000", nil))
	if want := `name="\x1f ~\x7f\u0080\u009f` + "\u00a0\ufffd" + `\ufffe\uffff` + "\U00010000\""; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
}
