// Package host joins what the engines of runs and of agents have in common: their API at
// sockets and ports, the preflight of jobs that arrive there, drivers, and host volumes.
package host

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/preflight"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/registry"
	"taskrun/hooks/template"
	"taskrun/jobspec"
)

// Volumes finds the folder of a host volume by its source.
type Volumes func(source string) (path string, readOnly, ok bool)

// OrRegistered also finds the folders of the volumes that clients have registered
// in an engine. Those that they have created have a place in the data directory,
// where hooks find them.
func (find Volumes) OrRegistered(running func() *engine.Engine, dataDir string) Volumes {
	return func(source string) (path string, readOnly, ok bool) {
		if path, readOnly, ok := find(source); ok {
			return path, readOnly, true
		}
		v := running().Registry().HostVolume(source)
		if v == nil || v.HostPath == datadir.VolumeDir(dataDir, source) {
			return "", false, false
		}
		return v.HostPath, registry.ReadOnly(v), true
	}
}

// Known reports whether there is a volume, also one that clients have created.
func (find Volumes) Known(running func() *engine.Engine) func(source string) bool {
	return func(source string) bool {
		_, _, ok := find(source)
		return ok || running().Registry().HostVolume(source) != nil
	}
}

// Preflight returns the check of jobs that arrive through the API of a run.
// It uses the surroundings of the run, and its stubs at that time.
func Preflight(run preflight.Case, stubs template.Stubs) func(httpapi.Order, *api.Job) jobspec.Diagnostics {
	entries := map[httpapi.Order]preflight.Entry{
		httpapi.OrderRegister: preflight.Register, httpapi.OrderPlan: preflight.APIPlan,
		httpapi.OrderValidate: preflight.APIValidate, httpapi.OrderDispatch: preflight.Dispatch,
	}
	return func(order httpapi.Order, job *api.Job) jobspec.Diagnostics {
		c := run
		c.Entry, c.Stubs, c.Health = entries[order], stubs.Set(), preflight.NewHealth(run.Drivers)
		c.Files = []preflight.File{{File: &jobspec.File{Positions: jobspec.Positions{}}, Job: job}}
		c.Prepare()
		return c.Check()
	}
}

// JoinDrivers tells drivers of a run where paths of the host are, unless tasks may use
// those of this machine, and the watch of the run what outlives it.
func JoinDrivers(all map[string]drivers.Driver, watch *keeper.Watch, dataDir string, hostPaths bool) {
	for name, d := range all {
		if d, ok := d.(drivers.HostPathUser); ok && !hostPaths { // a folder of the data directory in place of each path
			d.SetHostPaths(func(path string) (string, error) { return datadir.MakeHostPath(dataDir, path) })
		}
		if d, ok := d.(drivers.Lasting); ok {
			d.OnUse(func(ref string) { watch.Lasting(name, ref) })
		}
	}
}
