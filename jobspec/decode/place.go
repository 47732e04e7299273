package decode

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/evaluate"
)

// A Place records the positions of a block's parts in the source. Methods that
// return a Place record a nested block; the returned Place records its parts.
type Place interface {
	// Lost records an attribute whose value is invalid or missing, so that
	// nothing is stored; if name is empty, it records a part of the block
	// itself.
	Lost(name string)
	// Attr records an attribute, or a key of a map, with the range of its
	// value.
	Attr(name string, at hcl.Range)
	// Block records a block that can occur once.
	Block(name string, at hcl.Range) Place
	// Item records the i-th block of a kind, or the i-th element of a list;
	// label may be empty.
	Item(name string, i int, label string, at hcl.Range) Place
	// Keyed records a block in a map, by label.
	Keyed(name, label string, at hcl.Range) Place
}

// Nowhere is a Place that records nothing.
type Nowhere struct{}

// Attr does nothing.
func (Nowhere) Attr(string, hcl.Range) {}

// Lost does nothing.
func (Nowhere) Lost(string) {}

// Block returns Nowhere.
func (Nowhere) Block(string, hcl.Range) Place { return Nowhere{} }

// Item returns Nowhere.
func (Nowhere) Item(string, int, string, hcl.Range) Place { return Nowhere{} }

// Keyed returns Nowhere.
func (Nowhere) Keyed(string, string, hcl.Range) Place { return Nowhere{} }

// mark records the positions of the parts of a literal object or list.
func (d *Decoder) mark(name string, expr hclsyntax.Expression, place Place) {
	switch expr := expr.(type) {
	case *hclsyntax.ObjectConsExpr:
		d.markObject(expr, place.Block(name, expr.Range()))
	case *hclsyntax.TupleConsExpr:
		for i, element := range expr.Exprs {
			inner := place.Item(name, i, "", element.Range())
			if object, ok := element.(*hclsyntax.ObjectConsExpr); ok {
				d.markObject(object, inner)
			}
		}
	}
}

func (d *Decoder) markObject(object *hclsyntax.ObjectConsExpr, place Place) {
	for _, item := range object.Items {
		if key, ok := evaluate.Literal(item.KeyExpr); ok {
			place.Attr(key, item.ValueExpr.Range())
			d.mark(key, item.ValueExpr, place)
		}
	}
}
