package function

import (
	"github.com/zclconf/go-cty/cty"
)

// elementCost is the cost of one element of a list or map, in bytes.
const elementCost = 16

// comparisonsPerByte weighs time against memory.
const comparisonsPerByte = 32

// Size estimates what it costs to do something with all of v, in bytes as if v
// were written out. Values share their parts, so a value of a few kilobytes may
// take gigabytes when written out: the count ends as soon as it exceeds most.
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
			// To make a list of it, the type of each element is compared with
			// that of each other.
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

// numberSize returns about how many digits v has when it is written without an
// exponent, as conversion to a string does.
func numberSize(v cty.Value) int {
	n := v.AsBigFloat()
	if n.IsInf() {
		return 1
	}
	exponent := n.MantExp(nil) // in bits: three and a bit make a digit
	return (max(exponent, -exponent)+int(n.MinPrec()))/3 + 1
}
