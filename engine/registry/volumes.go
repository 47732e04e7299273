package registry

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// HostVolume returns the host volume with a name, or nil. A node has only one
// volume of a name, as in Nomad.
func (r *Registry) HostVolume(name string) *api.HostVolume {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, v := range r.HostVolumes.objects {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// ReadOnly reports whether a host volume can only be read.
func ReadOnly(v *api.HostVolume) bool {
	return len(v.RequestedCapabilities) > 0 && !slices.ContainsFunc(v.RequestedCapabilities, func(c *api.HostVolumeCapability) bool {
		return c.AccessMode != api.HostVolumeAccessModeSingleNodeReader
	})
}
