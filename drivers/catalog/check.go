package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// Check finds what is wrong with the config block of a task whatever its
// environment will be: options that the driver does not have, required ones
// that are missing, values that cannot become what the driver needs. Text with
// "${" is not judged, it is evaluated when the task starts. at is the path of
// the task.
func Check(d drivers.Driver, config map[string]any, at jobspec.Path) jobspec.Problems {
	c := checker{driver: d.Info().Name}
	c.body(config, d.TaskConfigSchema(), at.Attr("config"))
	return c.problems
}

// Options returns the names of the options at the top of a driver's config
// block, sorted.
func Options(d drivers.Driver) []string {
	return slices.Sorted(maps.Keys(optionsOf(d.TaskConfigSchema())))
}

type checker struct {
	driver   string
	problems jobspec.Problems
}

func (c *checker) report(at jobspec.Path, remedy, format string, args ...any) {
	c.problems = append(c.problems, jobspec.Problem{
		Summary: fmt.Sprintf(format, args...), Remedy: remedy, Path: at,
	})
}

// body checks a config block or a block in it.
func (c *checker) body(body map[string]any, spec hcldec.Spec, at jobspec.Path) {
	options := optionsOf(spec)
	names := slices.Sorted(maps.Keys(options))
	for _, name := range slices.Sorted(maps.Keys(body)) {
		o, ok := options[name]
		if !ok {
			c.report(at.Attr(name), remedyFor(name, names), "driver %q has no option %q", c.driver, name)
			continue
		}
		if o.block != nil {
			c.blocks(body[name], o.block, at.Attr(name))
		} else if !fits(body[name], o.ty) {
			c.report(at.Attr(name), "", "option %q of driver %q must be %s", name, c.driver, describe(o.ty))
		}
	}
	for _, name := range names {
		if _, ok := body[name]; !ok && options[name].required {
			c.report(at, "", "driver %q needs the option %q", c.driver, name)
		}
	}
}

func remedyFor(name string, known []string) string {
	if near := diagnostic.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "it has " + strings.Join(known, ", ")
}

func (c *checker) blocks(value any, spec hcldec.Spec, at jobspec.Path) {
	if body, ok := value.(map[string]any); ok {
		c.body(body, spec, at)
		return
	}
	list, ok := asList(value)
	if !ok {
		c.report(at, "", "%q is a block of driver %q: leave out the equals sign", at.Name(), c.driver)
		return
	}
	for _, element := range list {
		c.blocks(element, spec, at)
	}
}

// option is what a driver says of one of its options.
type option struct {
	ty       cty.Type
	block    hcldec.Spec // of what is in it; nil for an attribute
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
		options[s.TypeName] = option{block: s.Nested, required: s.Required}
	case *hcldec.BlockListSpec:
		options[s.TypeName] = option{block: s.Nested, required: s.MinItems > 0}
	}
	return options
}
