package jobs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// admit checks whether the namespace and the node pool of a job exist, and what
// the namespace allows. The errors are Nomad's.
func (h *Handler) admit(job *api.Job) error {
	registry := h.run.Engine.Registry()
	namespace := registry.Namespaces.Get(*job.Namespace)
	if namespace == nil {
		return fmt.Errorf("job %q is in nonexistent namespace %q", *job.ID, *job.Namespace)
	}
	if pool := job.NodePool; pool != nil && *pool != "" && registry.Pools.Get(*pool) == nil {
		return fmt.Errorf("job %q is in nonexistent node pool %q", *job.ID, *pool)
	}
	can := namespace.Capabilities
	if can == nil {
		return nil
	}
	for _, g := range job.TaskGroups {
		for _, n := range g.Networks {
			if mode := cmp.Or(n.Mode, "host"); !allows(mode, can.EnabledNetworkModes, can.DisabledNetworkModes) {
				return fmt.Errorf("used group network mode %q is not allowed in namespace %q", mode, namespace.Name)
			}
		}
		for _, t := range g.Tasks {
			if !allows(t.Driver, can.EnabledTaskDrivers, can.DisabledTaskDrivers) {
				return fmt.Errorf("used task driver %q is not allowed in namespace %q", t.Driver, namespace.Name)
			}
		}
	}
	return nil
}

// allows reports whether something is enabled, as everything is if nothing is,
// and not disabled.
func allows(what string, enabled, disabled []string) bool {
	return (len(enabled) == 0 || slices.Contains(enabled, what)) && !slices.Contains(disabled, what)
}
