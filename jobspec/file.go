package jobspec

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"
)

// File is a parsed job file.
type File struct {
	// Job is what `nomad job run -output` prints: normalized, but without the
	// defaults that Job.Canonicalize adds. Nil when there were errors.
	Job *api.Job
	// Draft is Job or, after errors that leave its blocks in place, the job as
	// far as it could be read. See Sure.
	Draft *api.Job
	// Positions are the places of all blocks and attributes of the job.
	Positions Positions
	// Sources are the texts that diagnostics may point into, by name. They are
	// there also when there were errors.
	Sources map[string][]byte
	// Secret are the sources that hold values of variables, of which no line may
	// be shown.
	Secret map[string]bool
	// Unset are the variables without a value, when Options.Outline is set.
	Unset []Unset

	lost      []Path // in Draft: values that are invalid or missing
	conceal   concealment
	concealed []Path // of values that are; nil until asked for
}

// Unset is a variable without a value.
type Unset struct {
	Name string
	Type string // as in the job file; "any" without one
	At   Range
}

// concealment hides in diagnostics what comes from outside of the job file: values
// of variables that stubs, the command line, the environment or files of values
// have set, and all that is made of them.
type concealment struct {
	text   string          // of the job file: the author's own words may be shown
	names  map[string]bool // so may the names of variables
	files  map[string]bool // sources that hold such values
	ranges []Range         // of expressions of the job file that have such values
	values map[string]bool // such values themselves
}

// Positions maps paths to the place in the source where they are defined: for
// an attribute or a key of a map its value, for a block its header. Elements of
// a list that is written out have places of their own, by index.
type Positions map[Path]Range

// At returns the place of p, or that of the nearest enclosing path that has one.
func (ps Positions) At(p Path) Range {
	path, _ := ps.nearest(p)
	return ps[path]
}

// nearest returns a path that has a place: p, or the nearest path around it;
// exact reports whether it means the same as p. One block may have an index
// (x[0]) or not (x), since its value does not show whether it was written as a
// block or as an object.
func (ps Positions) nearest(p Path) (path Path, exact bool) {
	if _, ok := ps[p]; ok || p == "" {
		return p, ok
	}
	parent := p.Parent()
	around, exact := ps.nearest(parent)
	if !exact {
		return around, false
	}
	step := p[len(parent):]
	if _, ok := ps[around+step]; ok {
		return around + step, true
	}
	list, isElement := step, false
	if i := strings.LastIndexByte(string(step), '['); i >= 0 {
		list, isElement = step[:i], true
	}
	if _, ok := ps[around+list]; ok { // the first element, or the list of another
		return around + list, strings.HasSuffix(string(step), "[0]")
	}
	if _, ok := ps[around+list+"[0]"]; ok && !isElement {
		return around + list + "[0]", true
	}
	return around, false
}

// Pos is a place in a source text: line and column count from 1, the column in
// characters; the byte counts from 0.
type Pos = hcl.Pos

// Range is a stretch of a source text: from Start up to, not including, End.
// The zero Range means "no place known".
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

// hcl converts the range to that of HCL.
func (r Range) hcl() hcl.Range {
	return hcl.Range{Filename: r.File, Start: r.Start, End: r.End}
}
