package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// alternatives maps drivers of Nomad that taskrun lacks, or cannot use on every
// machine, to a driver that can possibly run their tasks.
var alternatives = map[string]string{
	"docker":            "mock_driver",
	"podman":            "mock_driver",
	"containerd-driver": "mock_driver",
	"exec2":             "exec",
	"java":              "mock_driver",
	"qemu":              "mock_driver",
	"virt":              "mock_driver",
	"nspawn":            "mock_driver",
	"firecracker":       "mock_driver",
}

func driverAndConfig(c *Case, t taskOf) jobspec.Diagnostics {
	if t.Driver == "" {
		return nil // a rule of Nomad reports it
	}
	was, ok := c.replaced[t.Task]
	if !ok {
		diagnostics := c.configs.Check(t.Driver, t.Config, t.at)
		if c.Drivers[t.Driver] == nil {
			diagnostics = append(diagnostics, unknownDriver(c.Drivers, t.Driver, t.at, c.Entry)...)
		}
		return diagnostics
	}
	if diagnostics := c.configs.Check(was.driver, was.config, t.at); diagnostics.HasErrors() {
		return diagnostics
	}
	return append(was.leftOut(t), c.configs.Check(t.Driver, t.Config, t.at)...)
}

// replace replaces the driver of a task, and removes the options that the new
// driver does not have.
func (c *Case) replace(j *api.Job, t *api.Task) {
	to, ok := c.Instead[t.Driver]
	if !ok {
		return
	}
	was := replaced{driver: t.Driver, config: t.Config}
	t.Driver, t.Config = to, maps.Clone(t.Config)
	options := c.configs.Options(to)
	for _, name := range slices.Sorted(maps.Keys(was.config)) {
		if !slices.Contains(options, name) {
			was.left = append(was.left, name)
			delete(t.Config, name)
		}
	}
	if to == mockDriver {
		mockTask(j, t)
	}
	c.replaced[t] = was
}

func (r replaced) leftOut(t taskOf) jobspec.Diagnostics {
	if t.Driver == mockDriver {
		return jobspec.Diagnostics{r.mockNotice(t)}
	}
	if len(r.left) == 0 {
		return nil
	}
	return jobspec.Diagnostics{{
		Severity: jobspec.Warning,
		Summary:  fmt.Sprintf("task %q of driver %q runs with %q, which does not have all its options", t.Name, r.driver, t.Driver),
		Detail:   "left out: " + strings.Join(r.left, ", "),
		Path:     t.at.Attr("config"),
	}}
}

// unknownDriver returns a diagnostic for a driver that does not exist. A job
// file that is only validated may be for another machine or for a run that
// replaces the driver: then it is an error only if it looks like a misspelling.
func unknownDriver(known map[string]drivers.Driver, name string, at jobspec.Path, entry Entry) jobspec.Diagnostics {
	lookOnly := entry&(Validate|Strict|Plan|Update) != 0
	names := slices.Sorted(maps.Keys(known))
	p := jobspec.Diagnostic{
		Summary: fmt.Sprintf("there is no driver %q", name),
		Detail:  fmt.Sprintf("taskrun has %s", strings.Join(names, ", ")),
		Path:    at.Attr("driver"),
	}
	alternative, isNomads := alternatives[name]
	near := diagnostic.Nearest(name, slices.Concat(names, slices.Collect(maps.Keys(alternatives))))
	switch {
	case isNomads && lookOnly && entry != Strict:
		return nil
	case isNomads:
		p.Summary = fmt.Sprintf("taskrun does not have Nomad's driver %q", name)
		p.Remedy = fmt.Sprintf("run it with another one: --driver %s=%s, or rehearse the job: taskrun rehearse", name, alternative)
		if lookOnly {
			p.Severity = jobspec.Warning
		}
	case near != "":
		p.Remedy = fmt.Sprintf("did you mean %q?", near)
	case lookOnly:
		p.Severity = jobspec.Warning // possibly a plugin
	default:
		p.Remedy = fmt.Sprintf("run it with another one: --driver %s=mock_driver", name)
	}
	return jobspec.Diagnostics{p}
}

// IsPlugin reports whether a driver that taskrun does not have is probably a plugin
// of Nomad, and not a misspelling.
func IsPlugin(known map[string]drivers.Driver, name string) bool {
	return alternatives[name] != "" ||
		diagnostic.Nearest(name, slices.Concat(slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(alternatives)))) == ""
}

// driverHealth finds drivers that cannot be used on this machine, or differently
// than one would think. It reports each of them once for each job.
func driverHealth(c *Case, f File) (found jobspec.Diagnostics) {
	var names []string             // of these drivers
	tasks := map[string][]string{} // by driver
	forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
		if c.Drivers[t.Driver] == nil {
			return // another check reports it
		}
		is := c.Health.Of(t.Driver)
		if is.Health == drivers.HealthHealthy && is.Notice == "" {
			return
		}
		if tasks[t.Driver] == nil {
			names, found = append(names, t.Driver), append(found, ofHealth(t.Driver, is, at))
		}
		tasks[t.Driver] = append(tasks[t.Driver], strconv.Quote(t.Name))
	})
	for i, name := range names {
		if users := tasks[name]; len(users) > 1 && found[i].Severity == jobspec.Error {
			found[i].Detail += fmt.Sprintf("; %d tasks need it: %s", len(users), strings.Join(users, ", "))
		}
	}
	return found
}

func ofHealth(name string, f drivers.Fingerprint, at jobspec.Path) jobspec.Diagnostic {
	if f.Health == drivers.HealthHealthy {
		return jobspec.Diagnostic{Severity: jobspec.Warning, Summary: f.Notice, Path: at.Attr("driver")}
	}
	p := jobspec.Diagnostic{
		Summary: fmt.Sprintf("driver %q cannot be used on this machine", name),
		Detail:  f.HealthDescription,
		Path:    at.Attr("driver"),
	}
	switch other := alternatives[name]; {
	case f.Disabled:
		p.Detail = "the config file has disabled it"
		p.Remedy = fmt.Sprintf("enable it in the config block of plugin %q", name)
	case other != "":
		p.Remedy = fmt.Sprintf("or run it with another one: --driver %s=%s, or rehearse the job: taskrun rehearse", name, other)
	}
	return p
}

// unheededInConfig warns once for each driver about options of config blocks that
// have no effect.
func unheededInConfig(c *Case, f File) (found jobspec.Diagnostics) {
	index := map[string]int{} // in found, by driver
	forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
		d, ok := c.Drivers[t.Driver].(drivers.ConfigUnheeder)
		if !ok {
			return
		}
		for _, o := range d.UnheededInConfig(t.Config) {
			i, ok := index[t.Driver]
			if !ok {
				i = len(found)
				index[t.Driver] = i
				option, _, _ := strings.Cut(o.Option, ".")
				found = append(found, jobspec.Diagnostic{
					Severity: jobspec.Warning,
					Summary:  fmt.Sprintf("options of driver %q have no effect", t.Driver),
					Path:     at.Attr("config").Attr(option),
				})
			}
			said := fmt.Sprintf("%s: %s", o.Option, o.Instead)
			if !slices.Contains(strings.Split(found[i].Detail, "; "), said) {
				found[i].Detail = strings.TrimPrefix(found[i].Detail+"; "+said, "; ")
			}
		}
	})
	return found
}

// unheeded returns a warning for each option in the config file that has no effect
// on a driver that runs tasks.
func unheeded(c *Case) (diagnostics jobspec.Diagnostics) {
	for _, driver := range slices.Sorted(maps.Keys(driversOf(c.Files))) {
		for _, o := range c.Unheeded[driver] {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("%s: option %s of driver %q has no effect", o.At, o.Option, driver),
				Detail:   o.Instead,
			})
		}
	}
	return diagnostics
}
