package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// check is the check of one config block.
type check struct {
	driver      string
	diagnostics jobspec.Diagnostics
}

func (c *check) report(p jobspec.Diagnostic) { c.diagnostics = append(c.diagnostics, p) }

// body checks a config block or a nested block.
func (c *check) body(body map[string]any, known options, at jobspec.Path) {
	meant := make(map[string]bool) // likely meanings of misspelled names
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch o, ok := known[name]; {
		case !ok:
			meant[c.unknown(name, known, at)] = true
		case o.block != nil:
			c.block(body[name], o, at.Attr(name))
		default:
			c.attribute(body[name], o.ty, at.Attr(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, ok := body[name]; !ok && known[name].required && !meant[name] {
			c.report(jobspec.Diagnostic{Summary: fmt.Sprintf("driver %q needs the option %q", c.driver, name), Path: at})
		}
	}
}

// unknown reports an unknown option, and returns the option that was probably
// meant, or "".
func (c *check) unknown(name string, known options, at jobspec.Path) (near string) {
	where := ""
	if at.Name() != "config" {
		where = fmt.Sprintf(" in %q", at.Name())
	}
	near = diagnostic.Nearest(name, slices.Collect(maps.Keys(known)))
	c.report(jobspec.Diagnostic{
		Summary: fmt.Sprintf("driver %q has no option %q%s", c.driver, name, where),
		Remedy:  insteadOf(name, near, known),
		Path:    at.Attr(name),
		OfName:  true,
	})
	return near
}

// insteadOf returns the remedy for an unknown option.
func insteadOf(name, near string, known options) string {
	const fewest = 20 // a longer list is no help
	switch {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case isOfTask(name):
		return "it belongs in the task, outside of config"
	case len(known) <= fewest:
		return "it has " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	}
	return ""
}

// isOfTask reports whether a task has an attribute or a block of that name.
func isOfTask(name string) bool {
	task := reflect.TypeFor[api.Task]()
	for i := range task.NumField() {
		tag, _, _ := strings.Cut(task.Field(i).Tag.Get("hcl"), ",")
		if tag == name && tag != "config" {
			return true
		}
	}
	return false
}

// attribute checks the value of an option that is not a block.
func (c *check) attribute(value any, ty cty.Type, at jobspec.Path) {
	if m, ok := findMisfit(value, ty, at); ok {
		c.report(jobspec.Diagnostic{
			Summary: fmt.Sprintf("option %q of driver %q must be %s", at.Name(), c.driver, describe(ty)),
			Detail:  m.detail(),
			Path:    m.at,
		})
	}
}

// block checks the value of a block, or of several.
func (c *check) block(value any, o option, at jobspec.Path) {
	if body, ok := value.(map[string]any); ok {
		c.body(body, o.block, at)
		return
	}
	if value == nil {
		return
	}
	list, ok := asList(value)
	if !ok {
		c.report(jobspec.Diagnostic{
			Summary: fmt.Sprintf("option %q of driver %q must be a block", at.Name(), c.driver),
			Remedy:  fmt.Sprintf("write %s { … }", at.Name()),
			Path:    at,
		})
		return
	}
	for i, element := range list {
		if i > 0 && o.single {
			c.report(jobspec.Diagnostic{
				Summary: fmt.Sprintf("driver %q takes one block %q", c.driver, at.Name()), Path: elementOf(at, i),
			})
		}
		c.block(element, o, elementOf(at, i))
	}
}

// A Checker checks config blocks. It caches the options of drivers. It is not safe
// for concurrent use.
type Checker struct {
	drivers map[string]drivers.Driver
	options map[string]options // by driver; nil for an unknown one
}

// NewChecker returns a checker for the given drivers, by name, and those of
// Schema.
func NewChecker(known map[string]drivers.Driver) *Checker {
	return &Checker{drivers: known, options: make(map[string]options)}
}

// Check returns the errors of the config block of a task: unknown options, missing
// required ones, and values of a wrong type. Text with "${" is not checked, since
// it is evaluated when the task starts. The config block of an unknown driver has
// no errors. at is the path of the task.
func (c *Checker) Check(driver string, config map[string]any, at jobspec.Path) jobspec.Diagnostics {
	known := c.optionsOf(driver)
	if known == nil {
		return nil
	}
	check := check{driver: driver}
	check.body(config, known, at.Attr("config"))
	return check.diagnostics
}

// Options returns the names of the options at the top of a driver's config
// block, sorted.
func (c *Checker) Options(driver string) []string {
	return slices.Sorted(maps.Keys(c.optionsOf(driver)))
}

func (c *Checker) optionsOf(driver string) options {
	known, ok := c.options[driver]
	if ok {
		return known
	}
	schema := Schema(driver)
	if d := c.drivers[driver]; d != nil {
		schema = d.TaskConfigSchema()
	}
	if schema != nil {
		known = optionsOf(schema)
	}
	c.options[driver] = known
	return known
}
