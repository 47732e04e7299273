package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// standIns are drivers of Nomad that taskrun does not have, or cannot use on
// every machine, with the one that may take their place.
var standIns = map[string]string{
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

// checkDrivers checks the driver and the config block of every task. Without
// stand-ins it only describes the job (validate): a driver that taskrun lacks
// is then no error.
func (a *app) checkDrivers(files []jobFile, instead replacements) (problems jobspec.Problems) {
	known := a.drivers()
	c := driverCheck{known, catalog.NewChecker(known), instead}
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
			found = append(found, c.task(t, at)...)
		})
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

// driverCheck checks tasks against drivers.
type driverCheck struct {
	known   map[string]drivers.Driver
	configs *catalog.Checker
	instead replacements // nil if the job is only looked at
}

func (c driverCheck) task(t *api.Task, at jobspec.Path) jobspec.Problems {
	if t.Driver == "" {
		return nil // validate.Job says so
	}
	problems := c.configs.Check(t.Driver, t.Config, at)
	_, replaced := c.instead[t.Driver]
	switch {
	case replaced && !problems.HasErrors():
		problems = append(problems, c.instead.apply(c.configs, t, at)...)
		problems = append(problems, c.configs.Check(t.Driver, t.Config, at)...)
	case !replaced && c.known[t.Driver] == nil:
		problems = append(problems, unknownDriver(c.known, t.Driver, at, c.instead == nil)...)
	}
	return problems
}

// unknownDriver says that there is no such driver. A job file that is only
// looked at may be meant for another machine.
func unknownDriver(known map[string]drivers.Driver, name string, at jobspec.Path, lookOnly bool) jobspec.Problems {
	names := slices.Sorted(maps.Keys(known))
	p := jobspec.Problem{
		Summary: fmt.Sprintf("there is no driver %q", name),
		Detail:  fmt.Sprintf("taskrun has %s", strings.Join(names, ", ")),
		Path:    at.Attr("driver"),
	}
	standIn, isNomads := standIns[name]
	near := diagnostic.Nearest(name, slices.Concat(names, slices.Collect(maps.Keys(standIns))))
	switch {
	case isNomads && lookOnly:
		return nil
	case isNomads:
		p.Summary = fmt.Sprintf("taskrun does not have Nomad's driver %q", name)
		p.Remedy = fmt.Sprintf("run it with another one: --driver %s=%s, or rehearse the job: --rehearse", name, standIn)
	case near != "":
		p.Remedy = fmt.Sprintf("did you mean %q?", near)
	case lookOnly:
		p.Severity = jobspec.Warning // a plugin, perhaps
	default:
		p.Remedy = fmt.Sprintf("run it with another one: --driver %s=mock_driver", name)
	}
	return jobspec.Problems{p}
}

// forTasks calls f with each task and its path.
func forTasks(j *api.Job, f func(t *api.Task, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			f(t, jobspec.Root.Index("group", i).Index("task", k))
		}
	}
}
