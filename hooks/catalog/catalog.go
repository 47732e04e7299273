// Package catalog lists the hooks of taskrun in the order in which they are
// called, which is that of Nomad's client.
package catalog

import (
	"taskrun/hooks"
	"taskrun/hooks/allocdir"
	"taskrun/hooks/dispatchpayload"
	"taskrun/hooks/logmon"
	"taskrun/hooks/taskdir"
)

// New returns the hooks.
func New() hooks.Catalog {
	return hooks.Catalog{
		Alloc: []hooks.AllocFactory{allocdir.New},
		Task:  []hooks.TaskFactory{taskdir.New, logmon.New, dispatchpayload.New},
	}
}
