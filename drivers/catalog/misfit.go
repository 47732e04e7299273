package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec"
)

// A misfit is a value in a job file, or a part of one, that cannot be converted to
// the type of its option.
type misfit struct {
	value any
	at    jobspec.Path
}

// detail describes the value.
func (m misfit) detail() string {
	const longest = 40 // characters of a text that is shown
	v := reflect.ValueOf(m.value)
	switch {
	case m.value == nil:
		return "this is null"
	case v.Kind() == reflect.Slice:
		return "this is a list"
	case v.Kind() == reflect.Map:
		return "this is a map"
	case v.Kind() == reflect.String && utf8.RuneCountInString(v.String()) > longest:
		return "this is a string"
	case v.Kind() == reflect.String:
		return fmt.Sprintf("this is the string %q", v.String())
	}
	return fmt.Sprintf("this is %v", m.value)
}

// findMisfit returns the first part of a value that HCL cannot convert to a type.
func findMisfit(value any, ty cty.Type, at jobspec.Path) (misfit, bool) {
	self := misfit{value, at}
	switch {
	case value == nil || ty == cty.DynamicPseudoType:
		return misfit{}, false
	case ty.IsListType() || ty.IsSetType():
		if m, ok := value.(map[string]any); ok { // one block of several
			return findMisfit(m, ty.ElementType(), at)
		}
		list, ok := asList(value)
		if !ok {
			return self, true
		}
		for i, element := range list {
			if m, ok := findMisfit(element, ty.ElementType(), elementOf(at, i)); ok {
				return m, true
			}
		}
		return misfit{}, false
	case ty.IsMapType():
		return findMisfitInMap(value, ty.ElementType(), at)
	case ty.IsObjectType() || ty.IsTupleType():
		return misfit{}, false // left to the driver
	}
	return self, !fitsScalar(value, ty)
}

// findMisfitInMap checks a map or, as blocks are decoded, a list of one map.
func findMisfitInMap(value any, element cty.Type, at jobspec.Path) (misfit, bool) {
	if list, ok := asList(value); ok && len(list) == 1 {
		return findMisfitInMap(list[0], element, elementOf(at, 0))
	}
	m, ok := value.(map[string]any)
	if !ok {
		return misfit{value, at}, true
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if found, ok := findMisfit(m[key], element, at.Attr(key)); ok {
			return found, true
		}
	}
	return misfit{}, false
}

// fitsScalar reports whether HCL converts a value to a type that is no collection.
// Text that is evaluated later may become anything.
func fitsScalar(value any, ty cty.Type) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return false
	case reflect.Bool:
		return ty == cty.Bool || ty == cty.String
	case reflect.String:
		_, err := convert.Convert(cty.StringVal(v.String()), ty)
		return err == nil || isDeferred(value)
	default: // a number
		return ty == cty.Number || ty == cty.String
	}
}

// isDeferred reports whether a value is text that is evaluated when the task
// starts.
func isDeferred(value any) bool {
	text, ok := value.(string)
	return ok && (strings.Contains(text, "${") || strings.Contains(text, "%{"))
}

// asList returns the elements of a slice of any type.
func asList(value any) ([]any, bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice {
		return nil, false
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return list, true
}

// elementOf returns the path of an element of the list at a path.
func elementOf(list jobspec.Path, i int) jobspec.Path { return list.Parent().Index(list.Name(), i) }

// describe returns the words for a type in a diagnostic. A list of maps is written
// as one map.
func describe(ty cty.Type) string {
	switch {
	case (ty.IsListType() || ty.IsSetType()) && ty.ElementType().IsMapType():
		return describe(ty.ElementType())
	case ty.IsMapType():
		return "a map of " + plural(ty.ElementType())
	case ty.IsListType() || ty.IsSetType():
		return "a list of " + plural(ty.ElementType())
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	}
	return "a string"
}

func plural(ty cty.Type) string {
	switch ty {
	case cty.String:
		return "strings"
	case cty.Number:
		return "numbers"
	}
	return "values"
}
