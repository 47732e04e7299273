package jobspec

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/evaluate"
)

// Options are what a job file is parsed with.
type Options struct {
	Vars     []string // NAME=VALUE as given with --var, in order
	VarFiles []string // paths, in order
	Environ  []string // K=V; the NOMAD_VAR_* among them set variables
	BaseDir  string   // relative paths in file functions; "" is the current directory

	// VarTexts are the contents of more files of values, after VarFiles.
	VarTexts []Source

	// NoFiles makes functions that read files fail, for untrusted texts.
	NoFiles bool

	// Values set the variables that nothing else sets. Names that the file does
	// not declare are ignored, since one set serves many files.
	Values map[string]VariableValue

	// Outline allows variables without a value: whatever depends on them is left
	// out of the job, and they are in File.Unset.
	Outline bool

	// IgnoreUndeclared makes values for variables that the file does not
	// declare a warning, as Nomad's -hcl2-strict=false does.
	IgnoreUndeclared bool
}

// VariableValue is the value of a variable, and where it stands.
type VariableValue struct {
	Value cty.Value
	At    Range
}

// A parser holds the state of one call of Parse.
type parser struct {
	opts      Options
	src       Source
	file      *File
	scope     *evaluate.Scope
	variables variables
	// incomplete: blocks are missing in the job, or more.
	incomplete bool
	locals     locals
	conceal    concealment
	path       []string // locals being evaluated, each for the one before it
	looked     int      // references between locals that were followed
}

// unknown is the value of a variable whose value is invalid or missing: whatever
// depends on it is not reported again.
var unknown = cty.DynamicVal

// place returns where in its source a range of HCL is.
func (p *parser) place(r hcl.Range) Range {
	if p.scope != nil {
		r = p.scope.InSource(r)
	}
	return RangeOf(r)
}

// A variable is declared in a job file and set from outside.
//
// See https://developer.hashicorp.com/nomad/docs/reference/hcl2/variables.
type variable struct {
	name     string
	declared hcl.Range
	// typ is the declared type, or else that of the default, inferred. It is
	// NilType for a variable with neither.
	typ         cty.Type
	inferred    bool
	value       cty.Value // NilVal: not set
	origin      string    // what set the value, in words
	at          hcl.Range // of the value
	broken      bool      // reported already
	validations []validation
}

// A validation is a condition that the value of a variable must meet.
type validation struct {
	condition hcl.Expression
	message   string
	at        hcl.Range // of the block
}

// variables are those of a file by name.
type variables map[string]*variable

// inOrder returns the variables as they were declared.
func (vs variables) inOrder() []*variable {
	return slices.SortedFunc(maps.Values(vs), byPlace)
}

func byPlace(a, b *variable) int {
	return cmp.Compare(a.declared.Start.Byte, b.declared.Start.Byte)
}

// A local is a named expression of a locals block.
//
// See https://developer.hashicorp.com/nomad/docs/reference/hcl2/locals.
type local struct {
	name  string
	at    hcl.Range // of the name
	expr  hclsyntax.Expression
	value cty.Value // NilVal until evaluated
	open  bool      // being evaluated: to need it now is to need itself
}

// locals are those of a file by name.
type locals map[string]*local

// inOrder returns the locals by name.
func (ls locals) inOrder() []*local {
	return slices.SortedFunc(maps.Values(ls), func(a, b *local) int { return cmp.Compare(a.name, b.name) })
}

// maxDiagnostics limits the diagnostics of one file.
const maxDiagnostics = 1000

// fewNames returns the sorted keys of a map, or none if there are too many to
// look for a slip among them.
func fewNames[V any](named map[string]V) []string {
	if len(named) > maxDiagnostics {
		return nil
	}
	return slices.Sorted(maps.Keys(named))
}
