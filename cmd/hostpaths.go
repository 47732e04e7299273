package cmd

import (
	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
)

// lendHostPaths has the tasks of all drivers get, for a path of this machine,
// a place in the data directory.
func lendHostPaths(known map[string]drivers.Driver, dataDir string) {
	for _, d := range known {
		if d, ok := d.(drivers.HostPathUser); ok {
			d.SetHostPaths(func(path string) (string, error) { return allocdir.MakeHostPath(dataDir, path) })
		}
	}
}
