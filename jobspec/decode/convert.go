package decode

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

func assign(target reflect.Value, v cty.Value) *mismatch {
	t := target.Type()
	if t == durationType {
		return assignDuration(target, v)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNull() && t != durationPointer { // Nomad has no duration that is null
			_, wanted := scalar(t.Elem().Kind())
			if _, err := convert.Convert(v, wanted); err == nil {
				return nil
			}
		}
		p := reflect.New(t.Elem())
		if m := assign(p.Elem(), v); m != nil {
			return m
		}
		target.Set(p)
		return nil
	case reflect.Slice:
		return assignList(target, v)
	case reflect.Map:
		return assignMap(target, v)
	default:
		return assignScalar(target, v)
	}
}

// untypedNull reports whether v is a null that fits every type. That of a
// variable fits the type of the variable only.
func untypedNull(v cty.Value) bool { return v.IsNull() && v.Type() == cty.DynamicPseudoType }

// scalar returns what a field of that kind holds, in words and as a type.
func scalar(kind reflect.Kind) (string, cty.Type) {
	switch kind {
	case reflect.String:
		return "a string", cty.String
	case reflect.Bool:
		return "true or false", cty.Bool
	case reflect.Struct: // big.Float accepts any number
		return "a number", cty.Number
	default:
		return "a whole number", cty.Number
	}
}

func assignScalar(target reflect.Value, v cty.Value) *mismatch {
	wanted, t := scalar(target.Kind())
	converted, err := convert.Convert(v, t)
	if err != nil || converted.IsNull() {
		return &mismatch{wanted: wanted, value: v}
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(converted.AsString())
	case reflect.Bool:
		target.SetBool(converted.True())
	case reflect.Struct:
		target.Set(reflect.ValueOf(converted.AsBigFloat()).Elem())
	default:
		if reason := assignInteger(target, converted.AsBigFloat()); reason != "" {
			return &mismatch{wanted: wanted, value: v, reason: reason}
		}
	}
	return nil
}

// assignInteger stores a whole number, or returns why it cannot.
func assignInteger(target reflect.Value, n *big.Float) string {
	bits := target.Type().Bits()
	switch {
	case !n.IsInt():
		return "it has a fraction"
	case target.CanUint():
		if u, accuracy := n.Uint64(); accuracy == big.Exact && !target.OverflowUint(u) {
			target.SetUint(u)
			return ""
		}
		return fmt.Sprintf("it must be between 0 and %d", ^uint64(0)>>(64-bits))
	default:
		if i, accuracy := n.Int64(); accuracy == big.Exact && !target.OverflowInt(i) {
			target.SetInt(i)
			return ""
		}
		most := int64(^uint64(0) >> (65 - bits))
		return fmt.Sprintf("it must be between %d and %d", -most-1, most)
	}
}

// assignList stores a list, a tuple or a set, converting every element.
func assignList(target reflect.Value, v cty.Value) *mismatch {
	if untypedNull(v) {
		return nil
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() ||
		t.IsCollectionType() && !t.ElementType().IsPrimitiveType() && t.ElementType() != cty.DynamicPseudoType {
		if target.Type().Elem().Kind() == reflect.String {
			return &mismatch{wanted: "a list of strings", value: v}
		}
		return &mismatch{wanted: "a list of whole numbers", value: v}
	}
	if v.IsNull() {
		return nil
	}
	slice := reflect.MakeSlice(target.Type(), v.LengthInt(), v.LengthInt())
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, element := it.Element()
		if m := assign(slice.Index(i), element); m != nil {
			return m.below(cty.NumberIntVal(int64(i)))
		}
	}
	target.Set(slice)
	return nil
}

// assignMap stores an object or a map, converting every value.
func assignMap(target reflect.Value, v cty.Value) *mismatch {
	if untypedNull(v) {
		return nil
	}
	if t := v.Type(); !t.IsMapType() && !t.IsObjectType() {
		return &mismatch{wanted: "a map of strings", value: v}
	}
	if v.IsNull() {
		return nil
	}
	m := reflect.MakeMapWithSize(target.Type(), v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		element := reflect.New(target.Type().Elem()).Elem()
		if m := assign(element, value); m != nil {
			return m.below(key)
		}
		m.SetMapIndex(reflect.ValueOf(key.AsString()), element)
	}
	target.Set(m)
	return nil
}

var (
	durationType    = reflect.TypeFor[time.Duration]()
	durationPointer = reflect.TypeFor[*time.Duration]()
)

// assignDuration stores a duration: a string in Go's syntax, such as "1h30m",
// or a whole number of nanoseconds.
func assignDuration(target reflect.Value, v cty.Value) *mismatch {
	m := &mismatch{wanted: "a duration", value: v}
	switch {
	case v.IsNull():
	case v.Type() == cty.String:
		duration, err := time.ParseDuration(v.AsString())
		if err == nil {
			target.SetInt(int64(duration))
			return nil
		}
		m.reason, m.remedy = explainDuration(v.AsString())
	case v.Type() == cty.Number:
		if m.reason = assignInteger(target, v.AsBigFloat()); m.reason == "" {
			return nil
		}
	}
	return m
}

// explainDuration returns why a text is not a duration, and the remedy.
func explainDuration(text string) (reason, remedy string) {
	if isNumber(text) {
		return "it has no unit", fmt.Sprintf(`write "%ss" for seconds; the units are ns, us, ms, s, m and h`, text)
	}
	hours := map[string]float64{"d": 24, "day": 24, "days": 24, "w": 7 * 24}
	number := strings.TrimRight(text, "daysw ")
	if perUnit, ok := hours[strings.TrimSpace(text[len(number):])]; ok && isNumber(number) {
		n, _ := strconv.ParseFloat(number, 64)
		return "the longest unit is h", fmt.Sprintf(`write "%sh"`, strconv.FormatFloat(n*perUnit, 'f', -1, 64))
	}
	return "it does not read as one", `write a number and a unit, such as "30s" or "1h30m"`
}
