package ui

import (
	"fmt"
	"time"

	"taskrun/cmd/prose"
)

// WriteWarnings shows warnings about jobs that are not shown themselves.
func WriteWarnings(s *Streams, mode Mode, color ColorMode, warnings []Diagnostic) error {
	switch mode {
	case JSON:
		for _, d := range warnings {
			if err := WriteDiagnostic(s.Out, time.Now(), d); err != nil {
				return err
			}
		}
	case Plain:
		WriteLines(s.Err, WarningLines(s.ErrStyle(color), warnings))
	case Quiet:
	}
	return nil
}

// WarningLines returns a line for each diagnostic.
func WarningLines(style *Style, warnings []Diagnostic) (lines []string) {
	for _, d := range warnings {
		text := d.Summary
		if d.Detail != "" {
			text += "; " + d.Detail
		}
		if d.File != "" {
			text = fmt.Sprintf("%s:%d: %s", d.File, d.Line, text)
		}
		lines = append(lines, style.Waiting(d.Severity+":")+" "+prose.OneLine(text))
	}
	return lines
}
