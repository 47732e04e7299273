// Package decode fills structs that carry `hcl` tags from HCL bodies. It knows
// what gohcl does not: maps as block types, blocks that may be written as
// attributes, bodies without a schema, durations, dynamic blocks at any depth,
// and where each value came from.
//
// The tags are those of gohcl, name and kind: "count,optional", "hook" (a
// required attribute), "task,block", ",label", ",body". A kind of its own is
// "either", a map that may be written as a block or as an attribute. A field
// of type hcl.Expression gets the expression itself.
package decode

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/evaluate"
)

// A Decoder decodes the blocks of one file. It is not safe for use by several
// goroutines.
type Decoder struct {
	// Scope evaluates the expressions.
	Scope *evaluate.Scope
	// Form may return a pointer to another struct to decode in place of target,
	// which is a pointer to a struct; or nil for target itself. The
	// form usually embeds target and adds what can be written but not stored.
	Form func(target any) any
	// Static makes "dynamic" a block type like any other.
	Static bool
	// Incomplete is set when blocks are missing in what was decoded, so that
	// references to them look wrong.
	Incomplete bool

	tolerant int // structs around what is decoded
	diags    hcl.Diagnostics
	errors   int // reported, even if no longer kept
	schemas  map[reflect.Type]*schema
}

// A Finisher is a struct that does more once its block is decoded: it checks
// attributes against each other, or moves values to other fields.
type Finisher interface {
	Finish(Block) hcl.Diagnostics
}

// A Tolerant struct turns the errors in its block into warnings.
type Tolerant interface{ Tolerate() }

// A Block describes to a Finisher how its block was written.
type Block struct {
	Header hcl.Range // type and labels
	Label  hcl.Range // the first label, or the header without one

	attributes []attribute
}

// At returns the range of the value of an attribute of the block, or else that
// of the header.
func (b Block) At(name string) hcl.Range {
	for _, a := range b.attributes {
		if a.name == name {
			return a.expr.Range()
		}
	}
	return b.Header
}

// Has reports whether the block has an attribute of that name.
func (b Block) Has(name string) bool { return b.At(name) != b.Header }

// Placed is a Finisher that remembers how its block was written, for structs
// that embed it.
type Placed struct{ Block Block }

// Finish remembers the block.
func (p *Placed) Finish(b Block) hcl.Diagnostics {
	p.Block = b
	return nil
}

// content is what a body holds, in the order of the source, whatever the
// syntax it is written in.
type content struct {
	attributes []attribute
	blocks     []block
	missing    hcl.Range // where something that is missing could stand
}

// has reports whether there is an attribute of that name.
func (c content) has(name string) bool {
	return slices.ContainsFunc(c.attributes, func(a attribute) bool { return a.name == name })
}

// An attribute keeps the expression as it was parsed: that in JSON syntax is
// read as a template only where one is wanted.
type attribute struct {
	name string
	at   hcl.Range // of the name
	expr hcl.Expression
}

type block struct {
	name   string
	at     hcl.Range // of the name
	labels []label
	header hcl.Range // name and labels
	open   hcl.Range // the opening brace
	body   hcl.Body
}

type label struct {
	text string
	at   hcl.Range
}

// An instance is a block with the context its expressions are evaluated in;
// a dynamic block yields many of one block.
type instance struct {
	block

	ctx *hcl.EvalContext
}

// isDynamic reports whether a block generates others.
func (d *Decoder) isDynamic(b block) bool { return b.name == "dynamic" && !d.Static }

// maxDiagnostics limits the memory for diagnostics. As many errors fit beside the
// warnings, so that an error is never dropped because of them.
const maxDiagnostics = 10_000

func (d *Decoder) report(diags ...*hcl.Diagnostic) {
	for _, diag := range diags {
		room := maxDiagnostics
		if diag.Severity == hcl.DiagError {
			d.errors++
			room *= 2
		}
		if len(d.diags) < room {
			d.diags = append(d.diags, diag)
		}
	}
}

// A schema is what a block may hold, read from the tags of its struct.
type schema struct {
	attributes map[string]*field
	blockTypes map[string]*field
	order      []*field // of blockTypes
	required   []*field
	label      *field // nil: the block has no label
	body       *field // takes the whole body unread; nil: there is none
	json       *hcl.BodySchema
}

// A field is an attribute, a block type or the label of a schema.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	block kind // what a block of the name becomes
}

// kind is how blocks of one type are stored.
type kind int

const (
	single   kind = iota // *T: at most one
	many                 // []T or []*T
	keyed                // map[string]*T by label
	plain                // map[string]string or map[string][]string: any attributes
	freeForm             // map[string]any: anything
)
