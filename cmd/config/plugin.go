package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

// Plugin is the configuration of a driver in a config file.
type Plugin struct {
	Name   string
	Config cty.Value // decoded with the driver's schema
	Origin string    // where it was set

	places map[string]string // of options and their blocks
}

// At returns the place of an option. An option in a block is written
// BLOCK.OPTION.
func (p *Plugin) At(option string) string {
	name, _, _ := strings.Cut(option, ".")
	return p.places[name]
}

// Schemas are the options of drivers by name, nil for a driver without any.
type Schemas map[string]hcldec.Spec

// pluginKey is the only key of a config file that is not a flag.
const pluginKey = "plugin"

// Schemas of a plugin block and its body; see
// https://developer.hashicorp.com/nomad/docs/configuration/plugin.
var (
	pluginBlocks = []hcl.BlockHeaderSchema{{Type: pluginKey, LabelNames: []string{"driver"}}}
	pluginBody   = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "config"}}}
)

func (f *file) decode(drivers Schemas) ([]Plugin, error) {
	var plugins []Plugin
	for _, block := range f.plugins {
		name := block.Labels[0]
		key := pluginKey + "." + name
		at := f.at(block.DefRange, key)
		refuse := func(format string, args ...any) error {
			return fmt.Errorf("cannot use config file %s: %s", at, fmt.Sprintf(format, args...))
		}
		spec, ok := drivers[name]
		switch {
		case !ok:
			return nil, refuse("there is no driver %q; %s", name, instead(name, maps.Keys(drivers), "there are"))
		case spec == nil:
			return nil, refuse("driver %q has no options; leave its plugin block out", name)
		case slices.ContainsFunc(plugins, func(p Plugin) bool { return p.Name == name }):
			return nil, refuse("there is another plugin block for driver %q; put all its options into one", name)
		}
		content, diags := block.Body.Content(pluginBody)
		if diags.HasErrors() {
			return nil, f.fault(diags, key)
		}
		switch len(content.Blocks) {
		case 0:
			return nil, refuse("the plugin block of driver %q has no config block; its options go in there", name)
		case 1:
		default:
			return nil, refuse("the plugin block of driver %q has several config blocks; make them one", name)
		}
		val, err := f.options(name, content.Blocks[0].Body, spec)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, Plugin{
			Name: name, Config: val, Origin: fmt.Sprintf("%s: plugin %q", at, name),
			places: f.placesOf(key+".config", content.Blocks[0].Body, spec),
		})
	}
	return plugins, nil
}

func (f *file) options(driver string, body hcl.Body, spec hcldec.Spec) (cty.Value, error) {
	key := pluginKey + "." + driver + ".config"
	schema, known := hcldec.ImpliedSchema(spec), []string(nil)
	for _, a := range schema.Attributes {
		known = append(known, a.Name)
	}
	for _, b := range schema.Blocks {
		known = append(known, b.Type)
	}
	attributes, _ := body.JustAttributes() // it complains about blocks, which are allowed
	for _, attr := range inOrder(attributes) {
		if !slices.Contains(known, attr.Name) {
			return cty.NilVal, fmt.Errorf("cannot use config file %s: driver %q has no option %q; %s",
				f.at(attr.NameRange, key+"."+attr.Name), driver, attr.Name, instead(attr.Name, slices.Values(known), "it has"))
		}
	}
	val, diags := hcldec.Decode(body, spec, nil)
	if diags.HasErrors() {
		return cty.NilVal, f.fault(diags, key+optionAt(attributes, offset(first(diags))))
	}
	return val, nil
}

// placesOf returns the places of the options in a decoded config block.
func (f *file) placesOf(key string, body hcl.Body, spec hcldec.Spec) map[string]string {
	places := map[string]string{}
	content, _ := body.Content(hcldec.ImpliedSchema(spec))
	for name, a := range content.Attributes {
		places[name] = f.at(a.NameRange, key+"."+name)
	}
	for _, b := range content.Blocks {
		places[b.Type] = f.at(b.DefRange, key+"."+b.Type)
	}
	return places
}

// instead returns the remedy for an unknown name.
func instead(name string, known iter.Seq[string], introduction string) string {
	all := slices.Sorted(known)
	if near := diagnostic.Nearest(name, all); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return introduction + " " + strings.Join(all, ", ")
}

// optionAt returns a dot and the name of the attribute at an offset.
func optionAt(attributes hcl.Attributes, offset int) string {
	for name, attr := range attributes {
		if r := attr.Range; r.Start.Byte <= offset && offset < r.End.Byte {
			return "." + name
		}
	}
	return ""
}

// Decode decodes plugin blocks of the configuration file of an agent with the
// schemas of the drivers.
func Decode(path string, blocks []*hcl.Block, drivers Schemas) ([]Plugin, error) {
	f := &file{path: path, places: true, plugins: blocks}
	return f.decode(drivers)
}
