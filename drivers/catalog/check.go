package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/nomad/api"
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
func Check(driver string, schema hcldec.Spec, config map[string]any, at jobspec.Path) jobspec.Problems {
	c := checker{driver: driver}
	c.body(config, schema, at.Attr("config"))
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

func (c *checker) report(p jobspec.Problem) { c.problems = append(c.problems, p) }

// body checks a config block or a block in it.
func (c *checker) body(body map[string]any, schema hcldec.Spec, at jobspec.Path) {
	options := optionsOf(schema)
	meant := make(map[string]bool) // what misspelt names are likely to mean
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch o, ok := options[name]; {
		case !ok:
			meant[c.unknown(name, options, at)] = true
		case o.block != nil:
			c.block(body[name], o, at.Attr(name))
		default:
			c.attribute(body[name], o.ty, at.Attr(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if _, ok := body[name]; !ok && options[name].required && !meant[name] {
			c.report(jobspec.Problem{Summary: fmt.Sprintf("driver %q needs the option %q", c.driver, name), Path: at})
		}
	}
}

// unknown reports an option that the driver does not have there, and returns
// the one that is likely to be meant, or "".
func (c *checker) unknown(name string, options map[string]option, at jobspec.Path) (near string) {
	where := ""
	if at.Name() != "config" {
		where = fmt.Sprintf(" in %q", at.Name())
	}
	near = diagnostic.Nearest(name, slices.Collect(maps.Keys(options)))
	c.report(jobspec.Problem{
		Summary: fmt.Sprintf("driver %q has no option %q%s", c.driver, name, where),
		Remedy:  insteadOf(name, near, options),
		Path:    at.Attr(name),
		OfName:  true,
	})
	return near
}

// insteadOf says what to write in place of an unknown option.
func insteadOf(name, near string, options map[string]option) string {
	const fewest = 20 // more would not be read
	switch {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case isOfTask(name):
		return "it belongs in the task, outside of config"
	case len(options) <= fewest:
		return "it has " + strings.Join(slices.Sorted(maps.Keys(options)), ", ")
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

// attribute checks the value of an option that is no block.
func (c *checker) attribute(value any, ty cty.Type, at jobspec.Path) {
	if m, ok := findMisfit(value, ty, at); ok {
		c.report(jobspec.Problem{
			Summary: fmt.Sprintf("option %q of driver %q must be %s", at.Name(), c.driver, describe(ty)),
			Detail:  m.detail(),
			Path:    m.at,
		})
	}
}

// block checks what should be a block, or several.
func (c *checker) block(value any, o option, at jobspec.Path) {
	if body, ok := value.(map[string]any); ok {
		c.body(body, o.block, at)
		return
	}
	if value == nil {
		return
	}
	list, ok := asList(value)
	if !ok {
		c.report(jobspec.Problem{
			Summary: fmt.Sprintf("option %q of driver %q must be a block", at.Name(), c.driver),
			Remedy:  fmt.Sprintf("write %s { … }", at.Name()),
			Path:    at,
		})
		return
	}
	for i, element := range list {
		if i > 0 && o.single {
			c.report(jobspec.Problem{
				Summary: fmt.Sprintf("driver %q takes one block %q", c.driver, at.Name()), Path: elementOf(at, i),
			})
		}
		c.block(element, o, elementOf(at, i))
	}
}

// elementOf returns the path of an element of the list at a path.
func elementOf(list jobspec.Path, i int) jobspec.Path { return list.Parent().Index(list.Name(), i) }
