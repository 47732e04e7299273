package cmd

import (
	"cmp"
	"slices"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/service"
	hooks "taskrun/hooks/catalog"
	"taskrun/hooks/template"
	"taskrun/jobspec"
)

// machineOptions are the flags of a run that decide what its jobs meet on this
// machine.
type machineOptions struct {
	drivers   replacements
	dataDir   string
	hostPaths bool
	memoryMax bool // counts
}

func (o *machineOptions) bind(flags *pflag.FlagSet) {
	o.drivers = replacements{}
	flags.Var(o.drivers, "driver", "run the tasks of driver A with driver B, e.g. docker=mock_driver (may be repeated)")
	flags.StringVar(&o.dataDir, "data-dir", "", "`directory` for allocations (default: $XDG_STATE_HOME/taskrun; for root /var/lib/taskrun)")
	flags.BoolVar(&o.memoryMax, "memory-oversubscription", false, "allow tasks to use memory up to their memory_max")
	flags.BoolVar(&o.hostPaths, "host-paths", false, "let docker tasks mount paths of this machine, instead of folders of the data directory")
}

// preflight returns what an entry point has checked of files. Done ends what
// looks for other runs.
func (a *app) preflight(entry preflight.Entry, files []jobfile.File, opts jobOptions, machine machineOptions) (c *preflight.Case, done func()) {
	var elsewhere func() []*service.Instance
	done = func() {}
	if entry&(preflight.Strict|preflight.Up|preflight.Update) != 0 { // the others do not depend on other runs
		dir, _ := a.sockets() // without one there are no other runs
		others := neighbors.New(dir, 0, func() {})
		elsewhere, done = others.Instances, others.Close
	}
	return &preflight.Case{
		Entry: entry, Files: preflightFiles(files), Stubs: jobfile.Stubs(files), StubsBroken: jobfile.StubsUnknown(files),
		Drivers: a.drivers(), Instead: machine.drivers, Health: a.health(), Unheeded: a.unheeded,
		Services: hooks.Known(&service.Catalog{}, elsewhere), Environ: a.environ,
		DataDir: machine.dataDir, MaxAllocs: int(opts.maxAllocs),
		HostPaths: machine.hostPaths, MemoryMax: machine.memoryMax,
	}, done
}

// check prepares the jobs of files, and adds what an entry point that runs
// nothing on this machine finds to the diagnostics of reading them.
func (a *app) check(entry preflight.Entry, files []jobfile.File, diagnostics jobspec.Diagnostics, opts jobOptions, machine machineOptions) jobspec.Diagnostics {
	c, done := a.preflight(entry, files, opts, machine)
	defer done()
	c.Prepare()
	return opts.wanted(sorted(diagnostics, c.Check()))
}

// sorted joins diagnostics in the order of the files.
func sorted(lists ...jobspec.Diagnostics) jobspec.Diagnostics {
	all := slices.Concat(lists...)
	all.Sort()
	return all
}

func preflightFiles(files []jobfile.File) []preflight.File {
	list := make([]preflight.File, len(files))
	for i, f := range files {
		list[i] = preflight.File{File: f.File, Job: cmp.Or(f.Draft, f.Job), Name: f.Name}
	}
	return list
}

// health tells how the drivers are, each of which is asked once.
func (a *app) health() *preflight.Health {
	if a.healthOf == nil {
		a.healthOf = preflight.NewHealth(a.drivers())
	}
	return a.healthOf
}

// apiPreflight returns what a run has checked of jobs that come through its
// API: in the surroundings of the run, with its stubs as they are then.
func apiPreflight(a *app, run preflight.Case, stubs template.Lender) func(httpapi.Order, *api.Job) jobspec.Diagnostics {
	entries := map[httpapi.Order]preflight.Entry{
		httpapi.OrderRegister: preflight.Register, httpapi.OrderPlan: preflight.APIPlan,
		httpapi.OrderValidate: preflight.APIValidate, httpapi.OrderDispatch: preflight.Dispatch,
	}
	return func(order httpapi.Order, job *api.Job) jobspec.Diagnostics {
		c := run
		c.Entry, c.Stubs, c.Health = entries[order], stubs.Lent(), preflight.NewHealth(run.Drivers)
		c.Files = []preflight.File{{File: &jobspec.File{Positions: jobspec.Positions{}}, Job: job}}
		c.Prepare()
		return c.Check()
	}
}
