package decode

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

var errNull = errors.New("null is not allowed")

// assignScalar stores a string, a bool or an integer.
func assignScalar(target reflect.Value, v cty.Value) (string, error) {
	switch target.Kind() {
	case reflect.String:
		v, err := to(cty.String, v)
		if err == nil {
			target.SetString(v.AsString())
		}
		return "a string", err
	case reflect.Bool:
		v, err := to(cty.Bool, v)
		if err == nil {
			target.SetBool(v.True())
		}
		return "true or false", err
	case reflect.Struct: // of the math/big package: any number
		v, err := to(cty.Number, v)
		if err == nil {
			target.Set(reflect.ValueOf(*v.AsBigFloat()))
		}
		return "a number", err
	default:
		v, err := to(cty.Number, v)
		if err == nil {
			err = assignInteger(target, v.AsBigFloat())
		}
		return "a whole number", err
	}
}

// to converts v to a type; null is an error.
func to(t cty.Type, v cty.Value) (cty.Value, error) {
	v, err := convert.Convert(v, t)
	if err == nil && v.IsNull() {
		err = errNull
	}
	return v, err
}

func assignInteger(target reflect.Value, n *big.Float) error {
	if !n.IsInt() {
		return errors.New("it has a fraction")
	}
	if target.CanUint() {
		if u, accuracy := n.Uint64(); accuracy == big.Exact && !target.OverflowUint(u) {
			target.SetUint(u)
			return nil
		}
		return fmt.Errorf("it must be between 0 and %d", uint64(1)<<target.Type().Bits()-1)
	}
	if i, accuracy := n.Int64(); accuracy == big.Exact && !target.OverflowInt(i) {
		target.SetInt(i)
		return nil
	}
	most := int64(uint64(1)<<(target.Type().Bits()-1) - 1)
	return fmt.Errorf("it must be between %d and %d", -most-1, most)
}

// assignList stores a list, a tuple or a set, converting every element.
func assignList(target reflect.Value, v cty.Value) (string, error) {
	wanted := "a list of strings"
	if target.Type().Elem().Kind() != reflect.String {
		wanted = "a list of whole numbers"
	}
	if v.IsNull() {
		return "", nil
	}
	if t := v.Type(); !t.IsListType() && !t.IsTupleType() && !t.IsSetType() {
		return wanted, errors.New("it is not a list")
	}
	slice := reflect.MakeSlice(target.Type(), v.LengthInt(), v.LengthInt())
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, element := it.Element()
		if _, err := assign(slice.Index(i), element); err != nil {
			return wanted, elementError{cty.NumberIntVal(int64(i)), err}
		}
	}
	target.Set(slice)
	return "", nil
}

// assignMap stores an object or a map, converting every value.
func assignMap(target reflect.Value, v cty.Value) (string, error) {
	const wanted = "a map of strings"
	if v.IsNull() {
		return "", nil
	}
	if t := v.Type(); !t.IsMapType() && !t.IsObjectType() {
		return wanted, errors.New("it is not a map")
	}
	m := reflect.MakeMapWithSize(target.Type(), v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		element := reflect.New(target.Type().Elem()).Elem()
		if _, err := assign(element, value); err != nil {
			return wanted, elementError{key, err}
		}
		m.SetMapIndex(reflect.ValueOf(key.AsString()), element)
	}
	target.Set(m)
	return "", nil
}

// An elementError is the fault of one element of a collection.
type elementError struct {
	key cty.Value // number or string
	err error
}

// Error returns the fault alone; the place names the element.
func (e elementError) Error() string { return e.err.Error() }

// Unwrap returns the fault of the element.
func (e elementError) Unwrap() error { return e.err }
