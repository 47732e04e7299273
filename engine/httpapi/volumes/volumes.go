// Package volumes serves host volumes, which are folders of this machine, and
// says that there are no CSI volumes. See
// https://developer.hashicorp.com/nomad/api-docs/volumes.
package volumes

import (
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Handler serves volumes.
type Handler struct {
	run     *render.Run
	dataDir string
	mu      sync.Mutex // serializes what is done to folders
}

// New returns a handler. Created volumes are folders in the data directory.
func New(run *render.Run, dataDir string) *Handler { return &Handler{run: run, dataDir: dataDir} }

// List answers GET /v1/volumes with the volumes of a type.
func (h *Handler) List(r *rest.Request) (any, error) {
	switch kind := r.Query.Get("type"); {
	case kind == "csi" || !r.Query.Has("type"):
		return []*api.CSIVolumeListStub{}, nil
	case kind != "host":
		return nil, rest.Fail(http.StatusNotFound, "resource not found")
	}
	list := []*api.HostVolumeStub{}
	prefix, node, pool := r.Query.Get("prefix"), r.Query.Get("node_id"), r.Query.Get("node_pool")
	for _, v := range h.run.Engine.Registry().HostVolumes.All() {
		switch {
		case !strings.HasPrefix(v.Name, prefix) && !strings.HasPrefix(v.ID, prefix):
		case node != "" && node != v.NodeID, pool != "" && pool != v.NodePool, !r.InNamespace(v.Namespace):
		default:
			list = append(list, &api.HostVolumeStub{
				Namespace: v.Namespace, ID: v.ID, Name: v.Name, PluginID: v.PluginID, NodePool: v.NodePool, NodeID: v.NodeID,
				CapacityBytes: v.CapacityBytes, State: v.State,
				CreateIndex: v.CreateIndex, CreateTime: v.CreateTime, ModifyIndex: v.ModifyIndex, ModifyTime: v.ModifyTime,
			})
		}
	}
	return rest.Page(r, list, func(v *api.HostVolumeStub) string { return v.Namespace + "." + v.ID })
}

// Get answers GET /v1/volume/host/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	v := h.find(r)
	if v == nil {
		return nil, rest.Fail(http.StatusNotFound, "volume not found")
	}
	shown := *v
	for _, a := range h.users(v) {
		stub := h.run.Bare(a).Stub()
		stub.JobType, stub.JobVersion, stub.AllocatedResources = *a.Job.Type, *a.Job.Version, nil
		shown.Allocations = append(shown.Allocations, stub)
	}
	return &shown, nil
}

// find returns the volume that a request names, or nil.
func (h *Handler) find(r *rest.Request) *api.HostVolume {
	v := h.run.Engine.Registry().HostVolumes.Get(r.ID)
	if v == nil || !r.InNamespace(v.Namespace) {
		return nil
	}
	return v
}

// users returns the living allocations with a task that mounts a volume.
func (h *Handler) users(v *api.HostVolume) (list []engine.Alloc) {
	for _, a := range h.run.Engine.Allocs() {
		if !tracker.Terminal(a.Status) && (!h.run.Resident || *a.Job.Namespace == v.Namespace) && asks(a, v.Name) {
			list = append(list, a)
		}
	}
	return list
}

// asks reports whether the group of an allocation asks for a host volume.
func asks(a engine.Alloc, volume string) bool {
	for _, request := range a.Job.LookupTaskGroup(a.Group).Volumes {
		source := request.Source
		if request.PerAlloc {
			source += a.Name[strings.LastIndexByte(a.Name, '['):]
		}
		if request.Type == "host" && source == volume {
			return true
		}
	}
	return false
}

// Nothing answers GET of lists that are always empty.
func (h *Handler) Nothing(*rest.Request) (any, error) { return []struct{}{}, nil }
