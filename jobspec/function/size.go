package function

import (
	"github.com/zclconf/go-cty/cty"
)

// elementCost is the cost of one element of a list or map, in bytes.
const elementCost = 16

// comparisonsPerByte weighs time against memory.
const comparisonsPerByte = 32

// Size estimates the cost of processing all of v, in bytes as if v were written
// out. Values share parts, so a value of a few kilobytes may take gigabytes
// when written out: Size stops counting once it exceeds most.
func Size(v cty.Value, most int) int {
	if v.IsNull() || !v.IsKnown() {
		return 1
	}
	switch t := v.Type(); {
	case t == cty.String:
		return len(v.AsString()) + 1
	case t == cty.Number:
		return numberSize(v)
	case t.IsCollectionType(), t.IsTupleType(), t.IsObjectType():
		total := 1
		if t.IsTupleType() {
			// To convert it to a list, the types of all elements are compared
			// pairwise.
			total += v.LengthInt() * v.LengthInt() / comparisonsPerByte
		}
		for it := v.ElementIterator(); it.Next() && total <= most; {
			key, element := it.Element()
			total += elementCost + Size(element, most-total)
			if key.Type() == cty.String {
				total += len(key.AsString())
			}
		}
		return total
	default:
		return 1
	}
}

// numberSize returns the approximate number of digits of v without an exponent,
// as in a conversion to a string.
func numberSize(v cty.Value) int {
	n := v.AsBigFloat()
	if n.IsInf() {
		return 1
	}
	exponent := n.MantExp(nil) // in bits: about 3.3 bits per digit
	return (max(exponent, -exponent)+int(n.MinPrec()))/3 + 1
}
