package decode

import "github.com/hashicorp/hcl/v2"

// A Place records where the parts of a block are in the source. Methods that
// return a Place record a block below; the Place they return records its parts.
type Place interface {
	// Lost is an attribute whose value is invalid or missing, so that nothing is
	// stored; without a name, a part of the block itself.
	Lost(name string)
	// Attr is an attribute, or a key of a map, with the range of its value.
	Attr(name string, at hcl.Range)
	// Block is a block of which there is at most one.
	Block(name string, at hcl.Range) Place
	// Item is the i-th of the blocks of a kind, or the i-th element of a list;
	// label is empty if there is none.
	Item(name string, i int, label string, at hcl.Range) Place
	// Keyed is a block in a map of blocks by label.
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
