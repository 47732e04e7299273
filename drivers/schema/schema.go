// Package schema describes config blocks by the structs that they are decoded to.
package schema

import (
	"reflect"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// Of returns the schema of the options that taskenv.Decode stores in a T, which
// is a struct: one option for each field with a tag "cty". A struct, or a
// pointer to one, is a block; a slice of structs are blocks that may be
// repeated; a map is a block of attributes, and a slice of maps either a map or
// several blocks, which become one; a cty.Value has any type. A field with the tag
// required:"true" must be set.
func Of[T any]() hcldec.ObjectSpec { return specOf(reflect.TypeFor[T]()) }

var ctyValue = reflect.TypeFor[cty.Value]()

func specOf(t reflect.Type) hcldec.ObjectSpec {
	spec := hcldec.ObjectSpec{}
	for _, field := range reflect.VisibleFields(t) {
		name, ty := field.Tag.Get("cty"), field.Type
		if name == "" {
			continue
		}
		if ty.Kind() == reflect.Pointer {
			ty = ty.Elem()
		}
		switch {
		case ty == ctyValue:
			spec[name] = &hcldec.AttrSpec{Name: name, Type: cty.DynamicPseudoType}
		case ty.Kind() == reflect.Struct:
			spec[name] = &hcldec.BlockSpec{TypeName: name, Nested: specOf(ty)}
		case ty.Kind() == reflect.Slice && ty.Elem().Kind() == reflect.Struct:
			spec[name] = &hcldec.BlockListSpec{TypeName: name, Nested: specOf(ty.Elem())}
		case ty.Kind() == reflect.Map:
			spec[name] = &hcldec.BlockAttrsSpec{TypeName: name, ElementType: typeOf(ty.Elem())}
		default:
			spec[name] = &hcldec.AttrSpec{Name: name, Type: typeOf(ty), Required: field.Tag.Get("required") != ""}
		}
	}
	return spec
}

// typeOf returns the type of an attribute; a duration is a string.
func typeOf(t reflect.Type) cty.Type {
	if t == reflect.TypeFor[time.Duration]() {
		return cty.String
	}
	ty, err := gocty.ImpliedType(reflect.Zero(t).Interface())
	if err != nil {
		panic(err) // a mistake in the struct
	}
	return ty
}
