package catalog

import (
	"maps"
	"slices"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// A Checker checks config blocks. It keeps what it learns of drivers, for the
// next task. It is not safe for concurrent use.
type Checker struct {
	drivers map[string]drivers.Driver
	options map[string]options // by driver; nil for one that nobody knows
}

// NewChecker returns a checker that knows the given drivers by name, and those
// that Schema knows.
func NewChecker(known map[string]drivers.Driver) *Checker {
	return &Checker{drivers: known, options: make(map[string]options)}
}

// Check finds what is wrong with the config block of a task whatever its
// environment will be: options that the driver does not have, required ones
// that are missing, values that cannot become what the driver needs. Text with
// "${" is not judged, it is evaluated when the task starts. Nothing is wrong
// where the driver is unknown. at is the path of the task.
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
