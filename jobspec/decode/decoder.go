// Package decode fills structs with `hcl` tags from HCL bodies. It supports
// features that gohcl lacks: maps as block types, blocks that may be written as
// attributes, bodies without a schema, durations, dynamic blocks at any depth,
// and the position of every value.
//
// The tags are those of gohcl, name and kind: "count,optional", "hook" (a
// required attribute), "task,block", ",label", ",body". There is one more kind,
// "either", for a map that may be written as a block or as an attribute. A
// field of type hcl.Expression receives the expression itself.
package decode

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/evaluate"
)

// A Decoder decodes the blocks of one file. It is not safe for concurrent use.
type Decoder struct {
	// Scope evaluates the expressions.
	Scope *evaluate.Scope
	// Form may return a pointer to another struct to decode instead of target,
	// which is a pointer to a struct, or nil to decode target itself. The form
	// usually embeds target and adds fields that can be written but not stored.
	Form func(target any) any
	// Static makes "dynamic" an ordinary block type.
	Static bool
	// Incomplete is set if blocks are missing in the result, so that references
	// to them look wrong.
	Incomplete bool

	tolerant int // number of enclosing Tolerant structs
	diags    hcl.Diagnostics
	errors   int // errors reported, including those no longer kept
	schemas  map[reflect.Type]*schema
}

// A Finisher is a struct that does more after its block is decoded: it checks
// attributes against each other, or moves values to other fields.
type Finisher interface {
	Finish(Block) hcl.Diagnostics
}

// A Tolerant struct turns the errors in its block into warnings.
type Tolerant interface{ Tolerate() }

// A Block describes to a Finisher how its block is written.
type Block struct {
	Header hcl.Range // type and labels
	Label  hcl.Range // the first label; if there is none, the header

	attributes []*hcl.Attribute
}

// At returns the range of the value of an attribute of the block, or else of
// the header.
func (b Block) At(name string) hcl.Range {
	for _, a := range b.attributes {
		if a.Name == name {
			return a.Expr.Range()
		}
	}
	return b.Header
}

// Has reports whether the block has an attribute with that name.
func (b Block) Has(name string) bool { return b.At(name) != b.Header }

// Placed is a Finisher that records how its block is written, for structs that
// embed it.
type Placed struct{ Block Block }

// Finish records the block.
func (p *Placed) Finish(b Block) hcl.Diagnostics {
	p.Block = b
	return nil
}

// content is the content of a body in the order of the source, in either
// syntax.
type content struct {
	attributes []*hcl.Attribute
	blocks     []block
	missing    hcl.Range // where a missing item could be added
}

func (c content) has(name string) bool {
	return slices.ContainsFunc(c.attributes, func(a *hcl.Attribute) bool { return a.Name == name })
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

// An instance is a block with the context of its expressions; a dynamic block
// can generate many instances of one block.
type instance struct {
	block

	ctx *hcl.EvalContext
}

// isDynamic reports whether a block generates others.
func (d *Decoder) isDynamic(b block) bool { return b.name == "dynamic" && !d.Static }

// maxDiagnostics limits the memory for diagnostics. As many errors fit in
// addition to the warnings, so that warnings never displace an error.
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

// A schema describes the content of a block, according to the tags of its
// struct.
type schema struct {
	attributes map[string]*field
	blockTypes map[string]*field
	order      []*field // of blockTypes
	required   []*field
	label      *field // nil: the block has no label
	body       *field // receives the whole body; nil: there is none
	json       *hcl.BodySchema
}

// A field is an attribute, a block type or the label of a schema.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	block kind // how blocks with the name are stored
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
