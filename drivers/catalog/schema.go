package catalog

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Schema returns the schema of the config block of a driver that job files name
// and this catalog does not have, or nil where that is not known either. A job
// file that is only looked at may be meant for another machine.
func Schema(driver string) hcldec.Spec {
	switch driver {
	case "docker":
		return docker()
	case "qemu":
		return qemu()
	case "podman":
		return podman()
	}
	return nil
}

// The types of options besides those of package cty. A map may be written as
// blocks, of which several become one map.
var (
	texts   = cty.List(cty.String)
	textMap = cty.List(cty.Map(cty.String))
	portMap = cty.List(cty.Map(cty.Number))
)

// schema joins the parts of a schema.
func schema(parts ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	whole := hcldec.ObjectSpec{}
	for _, part := range parts {
		maps.Copy(whole, part)
	}
	return whole
}

// required are options that must be there.
func required(ty cty.Type, names ...string) hcldec.ObjectSpec {
	return attributes(ty, true, names)
}

// optional are options that may be there.
func optional(ty cty.Type, names ...string) hcldec.ObjectSpec {
	return attributes(ty, false, names)
}

func attributes(ty cty.Type, required bool, names []string) hcldec.ObjectSpec {
	spec := hcldec.ObjectSpec{}
	for _, name := range names {
		spec[name] = &hcldec.AttrSpec{Name: name, Type: ty, Required: required}
	}
	return spec
}

// block is a block that may be there once.
func block(name string, options ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	return hcldec.ObjectSpec{name: &hcldec.BlockSpec{TypeName: name, Nested: schema(options...)}}
}

// blocks is a block that may be repeated.
func blocks(name string, options ...hcldec.ObjectSpec) hcldec.ObjectSpec {
	return hcldec.ObjectSpec{name: &hcldec.BlockListSpec{TypeName: name, Nested: schema(options...)}}
}
