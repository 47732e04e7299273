package cmd

import (
	"cmp"
	"fmt"
	"slices"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/jobspec"
)

// testReporter returns the reporter of taskrun test. What --output github
// annotates is annotated once.
func (a *app) testReporter(opts testOptions) (*reporter, error) {
	if opts.format == console.FormatGitHub && opts.report.to == "" {
		opts.report.to = "none"
	}
	return a.newReporter(opts.report, "taskrun test", ui.Mode(opts.format))
}

// tested reports runs of tests, and the diagnostics of their files. It returns the
// error or else that of a report.
func (r *reporter) tested(v *testView, files []*testFile, diagnostics jobspec.Diagnostics, err error) error {
	r.files = sourcesOf(files)
	found := slices.Clone(diagnostics)
	for _, result := range v.results[:v.next] {
		for _, f := range result.Failures {
			found = append(found, f.Diagnostic)
		}
	}
	if r.github {
		r.annotate(found)
	}
	suites := v.suites()
	if diagnostics.HasErrors() {
		r.diagnostics = diagnostics
		wrong := report.Refused(r.facts(view.Result{ExitCode: exit.Code(err)}), func(d jobspec.Diagnostic) string { return console.AsText(d, r.files) })
		suites = append(wrong, suites...)
	}
	title := fmt.Sprintf("%s: %d passed, %d failed", r.command, v.passed, v.failed)
	r.summarize(func(room int) string { return report.CasesSummary(title, suites, room) })
	return cmp.Or(err, r.writeQuality(found), r.writeJUnit(suites))
}
