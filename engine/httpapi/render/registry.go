package render

import (
	"maps"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/registry"
)

// addChanges adds what users have changed to the description of a node.
func (run *Run) addChanges(node *api.Node) {
	kept := run.Engine.Registry()
	node.Meta = kept.MetaOf(node.ID, run.Machine.Meta)
	node.HostVolumes = map[string]*api.HostVolumeInfo{}
	maps.Copy(node.HostVolumes, run.HostVolumes)
	for _, v := range kept.HostVolumes.All() {
		node.HostVolumes[v.Name] = &api.HostVolumeInfo{Path: v.HostPath, ReadOnly: registry.ReadOnly(v), ID: v.ID}
	}
	changed := kept.Nodes.Get(node.ID)
	if changed == nil {
		return
	}
	node.ModifyIndex = changed.ModifyIndex
	if changed.Ineligible {
		node.SchedulingEligibility = api.NodeSchedulingIneligible
	}
	for _, e := range changed.Events {
		node.Events = append(node.Events, &api.NodeEvent{
			Message: e.Message, Subsystem: "Cluster", Timestamp: e.Time, Details: map[string]string{}, CreateIndex: changed.CreateIndex,
		})
	}
}

// Pools returns the node pools, sorted by name.
func (run *Run) Pools() []*api.NodePool { return run.Engine.Registry().Pools.All() }

// Namespaces returns the namespaces. Without a resident engine they include
// those of the jobs, which no request has created.
func (run *Run) Namespaces() []*api.Namespace {
	kept := run.Engine.Registry().Namespaces
	list := kept.All()
	if run.Resident {
		return list
	}
	seen := map[string]bool{}
	for _, j := range run.Engine.Jobs() {
		if !seen[*j.Namespace] && kept.Get(*j.Namespace) == nil {
			seen[*j.Namespace] = true
			list = append(list, &api.Namespace{Name: *j.Namespace, CreateIndex: fold.FirstIndex, ModifyIndex: fold.FirstIndex})
		}
	}
	return list
}
