package cmd

import (
	"taskrun/engine"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/registry"
)

// volumeFinder finds the folder of a host volume by its source.
type volumeFinder func(source string) (path string, readOnly, ok bool)

// orRegistered also finds the folders of the volumes that clients have registered
// in an engine. Those that they have created have a place in the data directory,
// where hooks find them.
func (find volumeFinder) orRegistered(running func() *engine.Engine, dataDir string) volumeFinder {
	return func(source string) (path string, readOnly, ok bool) {
		if path, readOnly, ok := find(source); ok {
			return path, readOnly, true
		}
		v := running().Registry().HostVolume(source)
		if v == nil || v.HostPath == allocdir.VolumeDir(dataDir, source) {
			return "", false, false
		}
		return v.HostPath, registry.ReadOnly(v), true
	}
}

// known reports whether there is a volume, also one that clients have created.
func (find volumeFinder) known(running func() *engine.Engine) func(source string) bool {
	return func(source string) bool {
		_, _, ok := find(source)
		return ok || running().Registry().HostVolume(source) != nil
	}
}
