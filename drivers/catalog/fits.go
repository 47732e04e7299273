package catalog

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// fits reports whether a value of a job file may become one of a type, by the
// conversions of HCL. Text that is still to be evaluated may become anything
// that is no collection.
func fits(value any, ty cty.Type) bool {
	switch {
	case value == nil || ty == cty.DynamicPseudoType:
		return true
	case ty.IsListType() || ty.IsSetType():
		if m, ok := value.(map[string]any); ok { // one block of several
			return fits(m, ty.ElementType())
		}
		list, ok := asList(value)
		if !ok {
			return false
		}
		for _, element := range list {
			if !fits(element, ty.ElementType()) {
				return false
			}
		}
		return true
	case ty.IsMapType():
		return fitsMap(value, ty.ElementType())
	case ty.IsObjectType() || ty.IsTupleType():
		return true // left to the driver
	}
	return fitsScalar(value, ty)
}

// fitsMap takes maps and, since blocks arrive so, lists of them.
func fitsMap(value any, element cty.Type) bool {
	if list, ok := asList(value); ok {
		for _, m := range list {
			if !fitsMap(m, element) {
				return false
			}
		}
		return true
	}
	m, ok := value.(map[string]any)
	for _, v := range m {
		if !fits(v, element) {
			return false
		}
	}
	return ok
}

func fitsScalar(value any, ty cty.Type) bool {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Slice, reflect.Map:
		return false
	case reflect.Bool:
		return ty == cty.Bool || ty == cty.String
	case reflect.String:
		text := reflect.ValueOf(value).String()
		if strings.Contains(text, "${") || strings.Contains(text, "%{") {
			return true
		}
		return textFits(text, ty)
	default: // a number
		return ty == cty.Number || ty == cty.String
	}
}

func textFits(text string, ty cty.Type) bool {
	switch ty {
	case cty.Number:
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case cty.Bool:
		return text == "true" || text == "false" || text == "1" || text == "0"
	}
	return true
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

// describe names a type as a job file's author would.
func describe(ty cty.Type) string {
	switch {
	case ty.IsListType() || ty.IsSetType():
		return "a list"
	case ty.IsMapType() || ty.IsObjectType():
		return "a map"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	}
	return "a string"
}
