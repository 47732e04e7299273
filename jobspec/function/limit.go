package function

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A few functions produce large results from small arguments: a call of a dozen
// bytes could require more memory, or time, than any machine has. Their
// arguments are checked before the work starts.
const (
	maxText     = 16 << 20 // bytes a call may produce
	maxElements = 1 << 17  // elements a call may produce
	maxCompared = 10_000   // elements that a call may compare with each other
	maxNesting  = 500      // levels of JSON or YAML brackets
	maxCost     = 16       // of bcrypt: about four seconds
)

// A limit refuses arguments that would cost too much.
type limit func(args []cty.Value) error

// limited returns f with its arguments checked by l. l only sees arguments that
// are known and not null.
func limited(f function.Function, l limit) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, arg := range args {
				if !arg.IsWhollyKnown() {
					return f.ReturnTypeForValues(args)
				}
			}
			if err := l(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// text returns the string in v, or "" for other values.
func text(v cty.Value) string {
	if v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// formatLimit refuses verbs with an absurd width or precision.
func formatLimit(args []cty.Value) error {
	digits := 0
	for _, c := range text(args[0]) {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		// Only a number in a verb matters, but no sensible format contains such
		// a number elsewhere.
		if digits++; digits > 5 && strings.Contains(text(args[0]), "%") {
			return fmt.Errorf("a number in the format has more than 5 digits")
		}
	}
	return nil
}

func formatListLimit(args []cty.Value) error {
	if err := formatLimit(args); err != nil {
		return err
	}
	rows := 1
	for _, arg := range args[1:] {
		if !arg.IsNull() && arg.CanIterateElements() {
			rows = max(rows, arg.LengthInt())
		}
	}
	return errors.Join(sizeLimit(args), limitProduct("bytes", maxText, len(text(args[0])), rows))
}

func indentLimit(args []cty.Value) error {
	if args[0].IsNull() || args[0].Type() != cty.Number {
		return nil
	}
	spaces, _ := args[0].AsBigFloat().Int64()
	return limitProduct("bytes", maxText, int(min(max(spaces, 0), maxText+1)), strings.Count(text(args[1]), "\n")+1)
}

func joinLimit(args []cty.Value) error {
	elements := 0
	for _, arg := range args[1:] {
		if !arg.IsNull() && arg.CanIterateElements() {
			elements += arg.LengthInt()
		}
	}
	return errors.Join(sizeLimit(args), limitProduct("bytes", maxText, len(text(args[0])), elements))
}

func replaceLimit(args []cty.Value) error {
	hits := strings.Count(text(args[0]), text(args[1]))
	return limitProduct("bytes", maxText, hits, len(text(args[2])))
}

// regexReplaceLimit assumes that every byte matches and that the replacement
// consists of references to the match.
func regexReplaceLimit(args []cty.Value) error {
	return limitProduct("bytes", maxText, len(text(args[0]))+1, len(text(args[2])))
}

// sizeLimit is for functions that write their arguments out: a list may contain
// one long text many times, which costs nothing until then.
func sizeLimit(args []cty.Value) error {
	left := maxText
	for _, arg := range args {
		if left -= Size(arg, left); left < 0 {
			return fmt.Errorf("the arguments hold more than %d bytes", maxText)
		}
	}
	return nil
}

func distinctLimit(args []cty.Value) error {
	if !args[0].IsNull() && args[0].LengthInt() > maxCompared {
		return fmt.Errorf("the list has %d elements; at most %d are compared", args[0].LengthInt(), maxCompared)
	}
	return nil
}

func setProductLimit(args []cty.Value) error {
	n := 1
	for _, arg := range args {
		if arg.IsNull() || !arg.CanIterateElements() {
			return nil
		}
		if err := limitProduct("elements", maxElements, n, arg.LengthInt()); err != nil {
			return err
		}
		n *= arg.LengthInt()
	}
	return nil
}

func limitProduct(what string, most, a, b int) error {
	if b != 0 && a > most/b {
		product := new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b)))
		return fmt.Errorf("the result could have %s %s; at most %d are allowed", product, what, most)
	}
	return nil
}

// nestingLimit counts brackets including those in strings, which can only
// overestimate: no real document is nested that deep.
func nestingLimit(args []cty.Value) error {
	depth := 0
	for _, c := range []byte(text(args[0])) {
		switch c {
		case '[', '{':
			if depth++; depth > maxNesting {
				return fmt.Errorf("the text nests brackets more than %d levels deep", maxNesting)
			}
		case ']', '}':
			depth--
		}
	}
	return nil
}

func bcryptLimit(args []cty.Value) error {
	if len(args) < 2 || args[1].IsNull() || args[1].Type() != cty.Number {
		return nil
	}
	if args[1].AsBigFloat().Cmp(big.NewFloat(maxCost)) > 0 {
		return fmt.Errorf("the cost is above %d", maxCost)
	}
	return nil
}

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
	case t.IsObjectType():
		total := 1
		for name := range t.AttributeTypes() { // an iterator would sort the names first
			if total > most {
				break
			}
			total += elementCost + Size(v.GetAttr(name), most-total) + len(name)
		}
		return total
	case t.IsCollectionType(), t.IsTupleType():
		total := 1
		if t.IsTupleType() {
			// To convert it to a list, the types of all elements are compared
			// pairwise.
			total += v.LengthInt() * v.LengthInt() / comparisonsPerByte
		}
		for it := v.ElementIterator(); it.Next() && total <= most; {
			key, element := it.Element()
			total += elementCost + Size(element, most-total)
			if key.Type() == cty.String && !t.IsSetType() { // the keys of a set are its elements
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
