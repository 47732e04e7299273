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

// Decode fills target, a pointer to a struct, from the body of a block called
// name. It returns all errors and stores all valid values.
func (d *Decoder) Decode(name string, header hcl.Range, body hcl.Body, target any, place Place) hcl.Diagnostics {
	d.diags = nil
	if d.schemas == nil {
		d.schemas = map[reflect.Type]*schema{}
	}
	outermost := instance{block: block{name: name, header: header, body: body}, ctx: d.Scope.Root()}
	d.body(outermost, reflect.ValueOf(target).Elem(), place)
	return d.diags
}

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

// body fills the struct target from a block, or the form for it.
func (d *Decoder) body(in instance, target reflect.Value, place Place) {
	if d.Form != nil {
		if form := d.Form(target.Addr().Interface()); form != nil {
			target = reflect.ValueOf(form).Elem()
		}
	}
	if _, ok := target.Addr().Interface().(Tolerant); ok {
		d.tolerant++
		defer d.tolerate(len(d.diags))
	}
	s := d.schema(target.Type())
	var attributes []attribute
	if s.body != nil {
		s.body.of(target).Set(reflect.ValueOf(in.body))
	} else {
		attributes = d.fields(in, s, target, place)
	}
	if f, ok := target.Addr().Interface().(Finisher); ok {
		b := Block{Header: in.header, Label: in.header, attributes: attributes}
		if len(in.labels) > 0 {
			b.Label = in.labels[0].at
		}
		before := d.errors
		if d.report(f.Finish(b)...); d.errors > before {
			place.Lost("")
		}
	}
}

// fields stores the attributes and blocks of a body, and returns the
// attributes.
func (d *Decoder) fields(in instance, s *schema, target reflect.Value, place Place) []attribute {
	c := d.content(in, s)
	for _, b := range c.blocks {
		if s.blockTypes[b.name] == nil && !d.isDynamic(b) {
			place.Lost("") // what it should be is missing
		}
	}
	for _, a := range c.attributes {
		if f := s.attributes[a.name]; f != nil {
			place.Attr(a.name, a.expr.Range())
			if !d.attribute(a, f.of(target), in.ctx, place) {
				place.Lost(a.name)
			}
		}
	}
	for _, f := range s.required {
		if !c.has(f.name) {
			d.report(missingAttribute(f.name, in.name, c.missing))
			place.Lost(f.name)
		}
	}
	if len(c.blocks) > 0 {
		found := d.expand(c.blocks, in.ctx, s)
		for _, f := range s.order {
			if blocks := found[f.name]; len(blocks) > 0 {
				d.blocks(blocks, f, f.of(target), c, place)
			}
		}
	}
	return c.attributes
}

// tolerate turns the errors found since the n-th diagnostic into warnings.
func (d *Decoder) tolerate(n int) {
	d.tolerant--
	for _, diag := range d.diags[n:] {
		diag.Severity = hcl.DiagWarning
	}
}
