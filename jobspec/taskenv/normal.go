package taskenv

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Blocks and objects of a job file reach a config as lists of maps, even single
// ones; job files in JSON have plain maps. The functions below convert a config
// to the form that its schema expects, without changing the original.

// normalBody returns the options of a body in the form that schema expects.
func normalBody(body map[string]any, schema hcldec.Spec) map[string]any {
	normal := make(map[string]any, len(body))
	maps.Copy(normal, body)
	visitOptions(schema, func(name string, form func(any) any) {
		if value, ok := normal[name]; ok {
			normal[name] = form(value)
		}
	})
	return normal
}

// visitOptions calls visit with each option of a schema and the function that
// converts its value.
func visitOptions(schema hcldec.Spec, visit func(name string, form func(any) any)) {
	block := func(name string, nested hcldec.Spec) {
		visit(name, func(value any) any { return normalBlocks(value, nested) })
	}
	switch s := schema.(type) {
	case hcldec.ObjectSpec:
		for _, child := range s {
			visitOptions(child, visit)
		}
	case *hcldec.DefaultSpec:
		visitOptions(s.Primary, visit)
		visitOptions(s.Default, visit)
	case *hcldec.AttrSpec:
		visit(s.Name, func(value any) any { return normalValue(value, s.Type) })
	case *hcldec.BlockAttrsSpec:
		visit(s.TypeName, func(value any) any { return normalValue(value, cty.Map(s.ElementType)) })
	case *hcldec.BlockSpec:
		block(s.TypeName, s.Nested)
	case *hcldec.BlockListSpec:
		block(s.TypeName, s.Nested)
	}
}

// normalBlocks converts one block, or a list of blocks. HCL itself accepts
// either.
func normalBlocks(value any, nested hcldec.Spec) any {
	if body, ok := value.(map[string]any); ok {
		return normalBody(body, nested)
	}
	list, ok := asList(value)
	if !ok {
		return value
	}
	normal := make([]any, len(list))
	for i, element := range list {
		normal[i] = normalBlocks(element, nested)
	}
	return normal
}

// normalValue converts the value of an attribute: a list with one map to the
// map if ty is a map, and a map to a list if ty is a list of maps.
func normalValue(value any, ty cty.Type) any {
	switch {
	case ty.IsMapType() || ty.IsObjectType():
		if list, ok := asList(value); ok && len(list) == 1 {
			if m, ok := list[0].(map[string]any); ok {
				value = m
			}
		}
		return normalMap(value, ty)
	case ty.IsListType() || ty.IsSetType():
		element := ty.ElementType()
		list, ok := asList(value)
		if m, isMap := value.(map[string]any); isMap && (element.IsMapType() || element.IsObjectType()) {
			list, ok = []any{m}, true
		}
		if !ok {
			return value
		}
		normal := make([]any, len(list))
		for i := range list {
			normal[i] = normalValue(list[i], element)
		}
		return normal
	}
	return value
}

func normalMap(value any, ty cty.Type) any {
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	normal := make(map[string]any, len(m))
	for key, element := range m {
		switch {
		case ty.IsMapType():
			element = normalValue(element, ty.ElementType())
		case ty.HasAttribute(key):
			element = normalValue(element, ty.AttributeType(key))
		}
		normal[key] = element
	}
	return normal
}

// asList returns the elements of a list, in the form that decoders produce.
func asList(value any) ([]any, bool) {
	switch list := value.(type) {
	case []any:
		return list, true
	case []map[string]any:
		elements := make([]any, len(list))
		for i := range list {
			elements[i] = list[i]
		}
		return elements, true
	}
	return nil, false
}
