package jobspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Severity is how much a Diagnostic matters.
type Severity int

const (
	// Error keeps the job from running.
	Error Severity = iota
	// Warning marks something that is probably not intended: it is ignored, or
	// does not work as written. With --strict it keeps the job from running.
	Warning
	// Notice says what the user has decided, or should know, and never keeps a
	// job from running.
	Notice
	// Hint is an opinion, or concerns a deprecated form. It is shown on request
	// and never keeps a job from running.
	Hint
)

// String returns the word used in output: "error", "warning", "notice" or "hint".
func (s Severity) String() string { return [...]string{"error", "warning", "notice", "hint"}[s] }

// A Diagnostic is an error, a warning, a notice or a hint about a job file. Rules about the
// decoded job know only its Path; File.Place adds the Range.
type Diagnostic struct {
	Severity Severity
	Summary  string // what is wrong, lower case, without a full stop
	Detail   string // why, with the values concerned; may be empty
	Remedy   string // what to do about it; may be empty
	Path     Path   // where in the job; empty when the text itself is wrong
	OfName   bool   // the name at Path should not be there, whatever its value
	Word     string // what is wrong in the value at Path; empty if all of it is
	Alone    bool   // the value at Path is wrong, whatever else its block says
	Range    Range  // place in the source
}

// Error returns the diagnostic in one line, without the source snippet.
func (p Diagnostic) Error() string {
	var b strings.Builder
	if !p.Range.IsZero() {
		b.WriteString(p.Range.String() + ": ")
	}
	b.WriteString(p.Summary)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	return b.String()
}

// Diagnostics are the diagnostics of one or more job files.
type Diagnostics []Diagnostic

// HasErrors reports whether any diagnostic is an Error.
func (ps Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Diagnostic) bool { return p.Severity == Error })
}

// Errors returns those that are Errors.
func (ps Diagnostics) Errors() (errors Diagnostics) {
	for _, p := range ps {
		if p.Severity == Error {
			errors = append(errors, p)
		}
	}
	return errors
}

// Error returns one line for each diagnostic, so that a list can be used as an
// error.
func (ps Diagnostics) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort orders the diagnostics by file and place; those without a place come last.
func (ps Diagnostics) Sort() {
	slices.SortStableFunc(ps, func(a, b Diagnostic) int {
		if az, bz := a.Range.IsZero(), b.Range.IsZero(); az != bz {
			if az {
				return 1
			}
			return -1
		}
		return cmp.Or(
			cmp.Compare(a.Range.File, b.Range.File),
			cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte),
		)
	})
}

// Pos is a position in a source text. Line and column count from 1, the column
// in characters; the byte counts from 0.
type Pos = hcl.Pos

// Range is a range of a source text, from Start to before End. The zero Range
// means that no place is known.
type Range struct {
	File       string // as the user named it
	Start, End Pos
}

// IsZero reports whether no place is known.
func (r Range) IsZero() bool { return r.File == "" && r.Start == Pos{} }

// String returns "file:line,column".
func (r Range) String() string {
	if r.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s:%d,%d", r.File, r.Start.Line, r.Start.Column)
}

// RangeOf converts a range of HCL.
func RangeOf(r hcl.Range) Range {
	return Range{File: r.Filename, Start: r.Start, End: r.End}
}

func (r Range) hcl() hcl.Range {
	return hcl.Range{Filename: r.File, Start: r.Start, End: r.End}
}
