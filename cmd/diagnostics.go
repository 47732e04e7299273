package cmd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	reports "taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
	"taskrun/jobspec/report"
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
func (c *console) showDiagnostics(format diagnosticFormat, files []jobfile.File, diagnostics jobspec.Diagnostics) (err error) {
	switch format {
	case formatPlain:
		c.printDiagnostics(files, diagnostics)
	case formatJSON:
		for _, p := range diagnostics {
			if err = ui.WriteDiagnostic(c.streams.Out, time.Now(), asDiagnostic(p)); err != nil {
				return err
			}
		}
	case formatGitHub:
		for _, p := range diagnostics {
			if _, err = fmt.Fprintln(c.streams.Out, reports.Annotation(p, c.inWorkspace)); err != nil {
				return err
			}
		}
	case formatQuiet:
	}
	return err
}

// printDiagnostics writes diagnostics as text to stderr, each with its place in
// the source.
func (c *console) printDiagnostics(files []jobfile.File, diagnostics jobspec.Diagnostics) {
	c.printIn(shownSources(files), diagnostics)
}

// printIn writes diagnostics as text to stderr, each with its place in one of the
// sources.
func (c *console) printIn(sources map[string][]byte, diagnostics jobspec.Diagnostics) {
	style := diagnosticStyle{c.streams.ErrStyle(c.color), 0}
	if c.streams.ErrTerm {
		style.width = c.streams.Width()
	}
	_ = report.RenderAll(c.streams.Err, diagnostics, sources, style) // there is nowhere else to report it
}

// asText returns a diagnostic as text, with its place in the source.
func asText(d jobspec.Diagnostic, files []jobfile.File) string {
	return strings.TrimSuffix(textIn(shownSources(files), d, ui.NewStyle(false), 0), "\n")
}

// textIn returns a diagnostic as lines of at most a width, with its place in one of the
// sources. A width of 0 has no limit.
func textIn(sources map[string][]byte, d jobspec.Diagnostic, style *ui.Style, width int) string {
	var text strings.Builder
	_ = report.Render(&text, d, sources, diagnosticStyle{style, width}) // memory does not fail
	return text.String()
}

// shownSources returns the texts that diagnostics may show.
func shownSources(files []jobfile.File) map[string][]byte {
	sources := make(map[string][]byte)
	for _, f := range files {
		maps.Copy(sources, f.Sources)
		for name := range f.Secret {
			delete(sources, name)
		}
	}
	return sources
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

// inWorkspace returns the path of a file relative to the repository that a
// workflow of GitHub Actions has checked out.
func (c *console) inWorkspace(file string) string {
	return relativeTo(c.streams.Env("GITHUB_WORKSPACE"), file)
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

// refuse shows diagnostics if there are errors among them, and then returns a
// silent error.
func (c *console) refuse(files []jobfile.File, diagnostics jobspec.Diagnostics, mode ui.Mode) error {
	if !diagnostics.HasErrors() {
		return nil
	}
	if mode == ui.Quiet {
		mode = ui.Plain
	}
	if err := c.showDiagnostics(diagnosticFormat(mode), files, diagnostics); err != nil {
		return err
	}
	return exit.Silent(verdict.Usage)
}

// shown returns a path as short as possible.
func shown(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return relativeTo(dir, path)
}
