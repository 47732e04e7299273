package catalog

import (
	"maps"
	"slices"

	"taskrun/drivers"
	"taskrun/jobspec"
)

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
