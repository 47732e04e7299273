package jobspec

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// Options are the options of Parse.
type Options struct {
	Vars     []string // NAME=VALUE as given with --var, in order
	VarFiles []string // paths, in order
	// SecretVars: Vars are not from the command line, which every user can read.
	// Messages hide their values.
	SecretVars bool

	Environ []string // K=V; the NOMAD_VAR_* among them set variables
	BaseDir string   // base of relative paths in file functions; "" is the current directory

	// VarTexts are the texts of further files of values, after VarFiles.
	VarTexts []Source

	// NoFiles makes functions that read files fail. It is for untrusted texts.
	NoFiles bool

	// Values are the values of variables that are not set otherwise. Undeclared
	// names are ignored, because one set serves many files.
	Values map[string]VariableValue

	// Placeholders gives variables the values of placeholders among Values. Without
	// it, a placeholder is an error.
	Placeholders bool

	// Outline allows variables without a value: everything that depends on them
	// is omitted from the job, and they are listed in File.Unset.
	Outline bool

	// IgnoreUndeclared makes values for undeclared variables a warning, like
	// Nomad's -hcl2-strict=false, and its API.
	IgnoreUndeclared bool
}

// VariableValue is the value of a variable and its place.
type VariableValue struct {
	Value cty.Value
	At    Range
	// Placeholder is the name of a value that is still to be filled in, or empty.
	Placeholder string
}

// A parser is the state of a call of Parse.
type parser struct {
	opts      Options
	src       Source
	file      *File
	diags     hcl.Diagnostics // in the order in which they were found
	scope     *evaluate.Scope
	variables variables
	// incomplete is true if blocks, or more, are missing in the job.
	incomplete bool
	locals     locals
	conceal    concealment
	path       []string // locals being evaluated; each one is needed by the one before it
	looked     int      // number of references between locals
}

func (p *parser) report(diags ...*hcl.Diagnostic) { p.diags = append(p.diags, diags...) }

func (p *parser) refuse(at hcl.Range, summary, detail, remedy string) {
	p.report(diagnostic.Error(at, summary, detail, remedy))
}

func (p *parser) warn(at hcl.Range, summary, detail, remedy string) {
	p.report(diagnostic.Warning(at, summary, detail, remedy))
}

// unknown is the value of a variable whose value is invalid or missing. It
// prevents further errors about anything that depends on the variable.
var unknown = cty.DynamicVal

// place converts a range of HCL to a place in its source.
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
	// typ is the declared type, or the inferred type of the default. It is
	// NilType if there is neither.
	typ         cty.Type
	inferred    bool
	value       cty.Value // NilVal: not set
	origin      string    // description of what set the value
	at          hcl.Range // of the value
	broken      bool      // already reported
	placeholder string    // name of the placeholder that is its value; empty: none
	validations []validation
}

// A validation is a condition that the value of a variable must meet.
type validation struct {
	condition hcl.Expression
	message   string
	at        hcl.Range // of the block
}

type variables map[string]*variable

// inOrder returns the variables in the order of their declarations.
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
	open  bool      // being evaluated: a reference to it is a cycle
}

type locals map[string]*local

// inOrder returns the locals by name.
func (ls locals) inOrder() []*local {
	return slices.SortedFunc(maps.Values(ls), func(a, b *local) int { return cmp.Compare(a.name, b.name) })
}

// maxDiagnostics limits the diagnostics of one file.
const maxDiagnostics = 1000

// fewNames returns the sorted keys of a map, or nothing if there are too many
// to search for a misspelled name.
func fewNames[V any](named map[string]V) []string {
	if len(named) > maxDiagnostics {
		return nil
	}
	return slices.Sorted(maps.Keys(named))
}
