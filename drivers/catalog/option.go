package catalog

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// option is what a driver says of one of its options.
type option struct {
	ty       cty.Type    // of an attribute
	block    hcldec.Spec // of what is in a block; nil for an attribute
	single   bool        // there may be one such block
	required bool
}

// optionsOf returns the options that a schema names.
func optionsOf(spec hcldec.Spec) map[string]option {
	options := make(map[string]option)
	switch s := spec.(type) {
	case hcldec.ObjectSpec:
		for _, child := range s {
			maps.Copy(options, optionsOf(child))
		}
	case hcldec.TupleSpec:
		for _, child := range s {
			maps.Copy(options, optionsOf(child))
		}
	case *hcldec.DefaultSpec:
		maps.Copy(options, optionsOf(s.Default))
		for name, o := range optionsOf(s.Primary) {
			o.required = false
			options[name] = o
		}
	case *hcldec.AttrSpec:
		options[s.Name] = option{ty: s.Type, required: s.Required}
	case *hcldec.BlockAttrsSpec:
		options[s.TypeName] = option{ty: cty.Map(s.ElementType), required: s.Required}
	case *hcldec.BlockSpec:
		options[s.TypeName] = option{block: s.Nested, single: true, required: s.Required}
	case *hcldec.BlockListSpec:
		options[s.TypeName] = option{block: s.Nested, required: s.MinItems > 0}
	}
	return options
}
