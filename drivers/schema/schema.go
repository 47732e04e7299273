// Package schema helps drivers to describe config blocks with many options.
package schema

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// The types of options besides those of package cty. A map may be written as
// several blocks, which become one.
var (
	Texts   = cty.List(cty.String)
	TextMap = cty.List(cty.Map(cty.String))
	PortMap = cty.List(cty.Map(cty.Number))
)

// Join joins the parts of a schema.
func Join(parts ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	whole := hcldec.ObjectSpec{}
	for _, part := range parts {
		maps.Copy(whole, part)
	}
	return whole
}

// Required describes options that must be set.
func Required(ty cty.Type, names ...string) hcldec.ObjectSpec {
	return attributes(ty, true, names)
}

// Optional describes options that may be set.
func Optional(ty cty.Type, names ...string) hcldec.ObjectSpec {
	return attributes(ty, false, names)
}

func attributes(ty cty.Type, required bool, names []string) hcldec.ObjectSpec {
	spec := hcldec.ObjectSpec{}
	for _, name := range names {
		spec[name] = &hcldec.AttrSpec{Name: name, Type: ty, Required: required}
	}
	return spec
}

// Block describes a block that may be written once.
func Block(name string, options ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	return hcldec.ObjectSpec{name: &hcldec.BlockSpec{TypeName: name, Nested: Join(options...)}}
}

// Blocks describes a block that may be repeated.
func Blocks(name string, options ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	return hcldec.ObjectSpec{name: &hcldec.BlockListSpec{TypeName: name, Nested: Join(options...)}}
}
