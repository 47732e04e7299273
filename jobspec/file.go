package jobspec

import (
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/redact"
)

// File is a parsed job file.
type File struct {
	// Job is the job as `nomad job run -output` prints it: normalized, but
	// without the defaults of Job.Canonicalize. It is nil after errors.
	Job *api.Job
	// Draft is Job or, if errors leave the block structure intact, the readable
	// part of the job. See Sure.
	Draft *api.Job
	// Positions are the positions of all blocks and attributes of the job.
	Positions Positions
	// Sources are the texts that diagnostics may refer to, by name. They are
	// also set after errors.
	Sources map[string][]byte
	// Secret are the sources that contain values of variables and must not be
	// shown.
	Secret map[string]bool
	// Reads are the paths of the files and directories that functions of the job
	// file looked at, without duplicates. They are also set after errors.
	Reads []string
	// Unset are the variables without a value, when Options.Outline is set.
	Unset []Unset

	lost      []Path // in Draft: values that are invalid or missing
	conceal   concealment
	given     concealment // all values of variables from outside of the job file, also public ones
	concealed []Path      // paths of hidden values; nil until first needed
}

// Unset is a variable without a value.
type Unset struct {
	Name string
	Type string // as in the job file; "any" without one
	At   Range
	// Samples are values that may suit, at least one; see Fit.
	Samples []cty.Value
}

func (f *File) note(path string) {
	if !slices.Contains(f.Reads, path) {
		f.Reads = append(f.Reads, path)
	}
}

// Redacted returns the job as JSON that others may read. It hides the values of the
// environment and of other settings that may be secret, and values from outside of
// the job file that are long enough to be recognized.
func (f *File) Redacted() ([]byte, error) {
	return redact.Job(f.Job, func(text string) string { return f.given.replace(f.conceal.replace(text, minSecret), minSecret) })
}

// Given returns the values from outside of the job file that are long enough to be
// recognized, sorted. They may be secrets.
func (f *File) Given() (values []string) {
	for _, c := range []concealment{f.given, f.conceal} {
		for value := range c.values {
			if len(value) >= minSecret {
				values = append(values, value)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Positions maps paths to places in the source: the value of an attribute or of
// a map key, the header of a block. The elements of a literal list have places
// of their own, by index.
type Positions map[Path]Range

// At returns the place of p, or that of the nearest enclosing path that has one.
func (ps Positions) At(p Path) Range {
	path, _ := ps.nearest(p)
	return ps[path]
}

// nearest returns a path with a place: p, or the nearest enclosing one. Exact
// reports whether it means the same as p: a single block may have an index
// (x[0]) or not (x), because its value does not show whether it was written as
// a block or as an object.
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
	if _, ok := ps[around+list]; ok { // the first element, or another one's list
		return around + list, strings.HasSuffix(string(step), "[0]")
	}
	if _, ok := ps[around+list+"[0]"]; ok && !isElement {
		return around + list + "[0]", true
	}
	return around, false
}
