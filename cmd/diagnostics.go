package cmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/ui"
	"taskrun/jobspec"
	"taskrun/jobspec/report"
	"taskrun/jobspec/visible"
)

// diagnosticFormat is how diagnostics are shown: an output mode or, for
// validate, GitHub workflow annotations.
type diagnosticFormat string

const (
	formatPlain  = diagnosticFormat(ui.Plain)
	formatJSON   = diagnosticFormat(ui.JSON)
	formatGitHub = diagnosticFormat("github")
	formatQuiet  = diagnosticFormat(ui.Quiet)
)

// showDiagnostics writes diagnostics in a format: plain text to stderr, other
// formats to stdout.
func (a *app) showDiagnostics(format diagnosticFormat, files []jobfile.File, diagnostics jobspec.Diagnostics) (err error) {
	switch format {
	case formatPlain:
		a.printDiagnostics(files, diagnostics)
	case formatJSON:
		for _, p := range diagnostics {
			if err = ui.WriteDiagnostic(a.streams.Out, time.Now(), asDiagnostic(p)); err != nil {
				return err
			}
		}
	case formatGitHub:
		for _, p := range diagnostics {
			if _, err = fmt.Fprintln(a.streams.Out, annotation(p, a.streams.Env("GITHUB_WORKSPACE"))); err != nil {
				return err
			}
		}
	case formatQuiet:
	}
	return err
}

// printDiagnostics writes diagnostics as text to stderr, each with its place in
// the source.
func (a *app) printDiagnostics(files []jobfile.File, diagnostics jobspec.Diagnostics) {
	sources := make(map[string][]byte)
	for _, f := range files {
		maps.Copy(sources, f.Sources)
		for name := range f.Secret {
			delete(sources, name)
		}
	}
	style := diagnosticStyle{a.streams.ErrStyle(a.color), 0}
	if a.streams.ErrTerm {
		style.width = a.streams.Width()
	}
	_ = report.RenderAll(a.streams.Err, diagnostics, sources, style) // there is nowhere else to report it
}

// diagnosticStyle is the look of diagnostics on a stream.
type diagnosticStyle struct {
	*ui.Style
	width int
}

func (s diagnosticStyle) Width() int { return s.width }

func (s diagnosticStyle) Paint(kind report.Kind, text string) string {
	switch kind {
	case report.Failure, report.Mark:
		return s.Bad(text)
	case report.Caution:
		return s.Waiting(text)
	case report.Remedy:
		return s.Note(text)
	case report.Location:
		return s.Strong(text)
	case report.Gutter:
		return s.Quiet(text)
	}
	return text
}

// asDiagnostics converts diagnostics for JSON output and the views of a run.
func asDiagnostics(diagnostics jobspec.Diagnostics) []ui.Diagnostic {
	list := make([]ui.Diagnostic, len(diagnostics))
	for i, p := range diagnostics {
		list[i] = asDiagnostic(p)
	}
	return list
}

func asDiagnostic(p jobspec.Diagnostic) ui.Diagnostic {
	detail := p.Detail
	if p.Remedy != "" {
		detail = strings.TrimPrefix(detail+"; "+p.Remedy, "; ")
	}
	return ui.Diagnostic{
		Severity: p.Severity.String(), Summary: p.Summary, Detail: detail,
		File: p.Range.File, Line: p.Range.Start.Line, Column: p.Range.Start.Column,
	}
}

// countWarnings counts the diagnostics that are warnings.
func countWarnings(diagnostics jobspec.Diagnostics) (n int) {
	for _, d := range diagnostics {
		if d.Severity == jobspec.Warning {
			n++
		}
	}
	return n
}

// annotation returns a diagnostic as a workflow command of GitHub Actions, with a
// path relative to the root of the workspace; see
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions.
func annotation(p jobspec.Diagnostic, root string) string {
	message := visible.Text(p.Summary)
	for _, more := range []string{p.Detail, p.Remedy} {
		if more != "" {
			message += "\n" + visible.Text(more)
		}
	}
	place := ""
	if !p.Range.IsZero() {
		place = fmt.Sprintf(" file=%s,line=%d,col=%d,endLine=%d,endColumn=%d", property(visible.String(relativeTo(root, p.Range.File))),
			p.Range.Start.Line, p.Range.Start.Column, p.Range.End.Line, p.Range.End.Column)
	}
	level := p.Severity.String()
	if p.Severity == jobspec.Hint {
		level = "notice" // the lowest level of GitHub
	}
	return fmt.Sprintf("::%s%s::%s", level, place, escapeData(message))
}

// relativeTo returns the path of a file relative to root or, if the file is not
// below root, unchanged.
func relativeTo(root, file string) string {
	path, err := filepath.Abs(file)
	if root == "" || err != nil || strings.Contains(file, "://") {
		return file
	}
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}

// escapeData and property escape text so that it cannot end a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}

// refuse shows diagnostics if there are errors among them, and then returns a
// silent error.
func (a *app) refuse(files []jobfile.File, diagnostics jobspec.Diagnostics, mode ui.Mode) error {
	if !diagnostics.HasErrors() {
		return nil
	}
	if mode == ui.Quiet {
		mode = ui.Plain
	}
	if err := a.showDiagnostics(diagnosticFormat(mode), files, diagnostics); err != nil {
		return err
	}
	return silent(exitUsage)
}
