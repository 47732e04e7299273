package update

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// CanaryGroup returns a group as its canaries run it: with the canary tags and
// canary meta of its services.
func CanaryGroup(g *api.TaskGroup) *api.TaskGroup {
	canary := *g
	canary.Services = canaryServices(g.Services)
	canary.Tasks = slices.Clone(g.Tasks)
	for i, t := range g.Tasks {
		task := *t
		task.Services = canaryServices(t.Services)
		canary.Tasks[i] = &task
	}
	return &canary
}

func canaryServices(services []*api.Service) []*api.Service {
	list := slices.Clone(services)
	for i, s := range services {
		service := *s
		if len(s.CanaryTags) > 0 {
			service.Tags = s.CanaryTags
		}
		if len(s.CanaryMeta) > 0 {
			service.Meta = s.CanaryMeta
		}
		list[i] = &service
	}
	return list
}
