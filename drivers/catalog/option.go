package catalog

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// options are the options of a config block, or of a block in it, by name.
type options map[string]option

// option is an option of a driver.
type option struct {
	ty       cty.Type // of an attribute
	block    options  // of a block; nil for an attribute
	single   bool     // a block that cannot be repeated
	required bool
}

// optionsOf returns the options in a schema.
func optionsOf(spec hcldec.Spec) options {
	all := make(options)
	switch s := spec.(type) {
	case hcldec.ObjectSpec:
		for _, child := range s {
			maps.Copy(all, optionsOf(child))
		}
	case *hcldec.DefaultSpec:
		maps.Copy(all, optionsOf(s.Default))
		for name, o := range optionsOf(s.Primary) {
			o.required = false
			all[name] = o
		}
	case *hcldec.AttrSpec:
		all[s.Name] = option{ty: s.Type, required: s.Required}
	case *hcldec.BlockAttrsSpec:
		all[s.TypeName] = option{ty: cty.Map(s.ElementType), required: s.Required}
	case *hcldec.BlockSpec:
		all[s.TypeName] = option{block: optionsOf(s.Nested), single: true, required: s.Required}
	case *hcldec.BlockListSpec:
		all[s.TypeName] = option{block: optionsOf(s.Nested), required: s.MinItems > 0}
	}
	return all
}
