// Package catalog lists the hooks of taskrun in the order in which they are
// called, which is that of Nomad's client.
package catalog

import (
	"taskrun/hooks"
	"taskrun/hooks/allocdir"
	"taskrun/hooks/dispatchpayload"
	"taskrun/hooks/logmon"
	"taskrun/hooks/migratedisk"
	"taskrun/hooks/taskdir"
	"taskrun/hooks/volumes"
)

// Options is what hooks must know of their surroundings.
type Options struct {
	DataDir string // as the engine's
	// HostVolume returns the folder that is lent for a host volume, by the
	// volume's source. nil: none is.
	HostVolume func(source string) (path string, readOnly, ok bool)
}

// New returns the hooks.
func New(opts Options) hooks.Catalog {
	return hooks.Catalog{
		Alloc: []hooks.AllocFactory{allocdir.New, migratedisk.New},
		Task: []hooks.TaskFactory{
			taskdir.New,
			logmon.New,
			dispatchpayload.New,
			volumes.New(volumes.Config{DataDir: opts.DataDir, Lent: opts.HostVolume}),
		},
	}
}
