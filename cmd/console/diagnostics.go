package console

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

// Format is how diagnostics are shown: an output mode or, for
// validate, GitHub workflow annotations.
type Format string

// The formats.
const (
	FormatPlain  = Format(ui.Plain)
	FormatJSON   = Format(ui.JSON)
	FormatGitHub = Format("github")
	FormatQuiet  = Format(ui.Quiet)
)

// ShowDiagnostics writes diagnostics in a format: plain text to stderr, other
// formats to stdout.
func (c *Console) ShowDiagnostics(format Format, files []jobfile.File, diagnostics jobspec.Diagnostics) (err error) {
	switch format {
	case FormatPlain:
		c.PrintDiagnostics(files, diagnostics)
	case FormatJSON:
		for _, p := range diagnostics {
			if err = ui.WriteDiagnostic(c.Streams.Out, time.Now(), AsDiagnostic(p)); err != nil {
				return err
			}
		}
	case FormatGitHub:
		for _, p := range diagnostics {
			if _, err = fmt.Fprintln(c.Streams.Out, reports.Annotation(p, c.InWorkspace)); err != nil {
				return err
			}
		}
	case FormatQuiet:
	}
	return err
}

// PrintDiagnostics writes diagnostics as text to stderr, each with its place in
// the source.
func (c *Console) PrintDiagnostics(files []jobfile.File, diagnostics jobspec.Diagnostics) {
	c.PrintIn(shownSources(files), diagnostics)
}

// PrintIn writes diagnostics as text to stderr, each with its place in one of the
// sources.
func (c *Console) PrintIn(sources map[string][]byte, diagnostics jobspec.Diagnostics) {
	style := diagnosticStyle{c.Streams.ErrStyle(c.Color), 0}
	if c.Streams.ErrTerm {
		style.width = c.Streams.Width()
	}
	_ = report.RenderAll(c.Streams.Err, diagnostics, sources, style) // there is nowhere else to report it
}

// AsText returns a diagnostic as text, with its place in the source.
func AsText(d jobspec.Diagnostic, files []jobfile.File) string {
	return strings.TrimSuffix(TextIn(shownSources(files), d, ui.NewStyle(false), 0), "\n")
}

// TextIn returns a diagnostic as lines of at most a width, with its place in one of the
// sources. A width of 0 has no limit.
func TextIn(sources map[string][]byte, d jobspec.Diagnostic, style *ui.Style, width int) string {
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

// AsDiagnostics converts diagnostics for JSON output and the views of a run.
func AsDiagnostics(diagnostics jobspec.Diagnostics) []ui.Diagnostic {
	list := make([]ui.Diagnostic, len(diagnostics))
	for i, p := range diagnostics {
		list[i] = AsDiagnostic(p)
	}
	return list
}

// AsDiagnostic converts one diagnostic.
func AsDiagnostic(p jobspec.Diagnostic) ui.Diagnostic {
	detail := p.Detail
	if p.Remedy != "" {
		detail = strings.TrimPrefix(detail+"; "+p.Remedy, "; ")
	}
	return ui.Diagnostic{
		Severity: p.Severity.String(), Summary: p.Summary, Detail: detail,
		File: p.Range.File, Line: p.Range.Start.Line, Column: p.Range.Start.Column,
	}
}

// CountWarnings counts the diagnostics that are warnings.
func CountWarnings(diagnostics jobspec.Diagnostics) (n int) {
	for _, d := range diagnostics {
		if d.Severity == jobspec.Warning {
			n++
		}
	}
	return n
}

// InWorkspace returns the path of a file relative to the repository that a
// workflow of GitHub Actions has checked out.
func (c *Console) InWorkspace(file string) string {
	return RelativeTo(c.Streams.Env("GITHUB_WORKSPACE"), file)
}

// RelativeTo returns the path of a file relative to root or, if the file is not
// below root, unchanged.
func RelativeTo(root, file string) string {
	path, err := filepath.Abs(file)
	if root == "" || err != nil || strings.Contains(file, "://") {
		return file
	}
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}

// Refuse shows diagnostics if there are errors among them, and then returns a
// silent error.
func (c *Console) Refuse(files []jobfile.File, diagnostics jobspec.Diagnostics, mode ui.Mode) error {
	if !diagnostics.HasErrors() {
		return nil
	}
	if mode == ui.Quiet {
		mode = ui.Plain
	}
	if err := c.ShowDiagnostics(Format(mode), files, diagnostics); err != nil {
		return err
	}
	return exit.Silent(verdict.Usage)
}

// ShortPath returns a path as short as possible.
func ShortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return RelativeTo(dir, path)
}
