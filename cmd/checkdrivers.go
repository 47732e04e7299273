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

// standIns are drivers of Nomad that taskrun does not have, with the one that
// may take their place.
var standIns = map[string]string{
	"docker":            "mock_driver",
	"podman":            "mock_driver",
	"containerd-driver": "mock_driver",
	"exec":              "raw_exec",
	"exec2":             "raw_exec",
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
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
			found = append(found, checkDriver(known, t, at, instead)...)
		})
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

func checkDriver(known map[string]drivers.Driver, t *api.Task, at jobspec.Path, instead replacements) jobspec.Problems {
	if t.Driver == "" {
		return nil // validate.Job says so
	}
	problems := checkConfig(known, t, at)
	_, replaced := instead[t.Driver]
	switch {
	case replaced && !problems.HasErrors():
		problems = append(problems, instead.apply(known, t, at)...)
		problems = append(problems, checkConfig(known, t, at)...)
	case !replaced && known[t.Driver] == nil:
		problems = append(problems, unknownDriver(known, t.Driver, at, instead == nil)...)
	}
	return problems
}

// checkConfig checks the config block of a task against what its driver
// understands, be it one that taskrun has or not.
func checkConfig(known map[string]drivers.Driver, t *api.Task, at jobspec.Path) jobspec.Problems {
	schema := catalog.Schema(t.Driver)
	if d := known[t.Driver]; d != nil {
		schema = d.TaskConfigSchema()
	}
	if schema == nil {
		return nil
	}
	return catalog.Check(t.Driver, schema, t.Config, at)
}

// unknownDriver says that there is no such driver. A job file that is only
// looked at may be meant for another machine.
func unknownDriver(known map[string]drivers.Driver, name string, at jobspec.Path, lookOnly bool) jobspec.Problems {
	names := slices.Sorted(maps.Keys(known))
	p := jobspec.Problem{
		Summary: fmt.Sprintf("there is no driver %q", name),
		Detail:  fmt.Sprintf("taskrun has %s", strings.Join(names, " and ")),
		Path:    at.Attr("driver"),
	}
	standIn, isNomads := standIns[name]
	near := diagnostic.Nearest(name, slices.Concat(names, slices.Collect(maps.Keys(standIns))))
	switch {
	case isNomads && lookOnly:
		return nil
	case isNomads:
		p.Summary = fmt.Sprintf("taskrun does not have Nomad's driver %q", name)
		p.Remedy = fmt.Sprintf("run it with another one: --driver %s=%s", name, standIn)
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
