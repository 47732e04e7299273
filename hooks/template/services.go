package template

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/engine/leaf/service"
	"taskrun/jobspec/taskenv"
)

// instances returns the services of a provider in the namespace of the job:
// those that run here, and those of the stubs.
func (a *answerer) instances(provider string) (list []Instance) {
	if s := a.cfg.Services; s != nil {
		list = append(list, s.Instances()...)
	}
	for _, s := range a.stubs.Services {
		list = append(list, Instance{Instance: *service.OfStub(s)})
	}
	list = slices.DeleteFunc(list, func(i Instance) bool {
		return i.Provider != "" && i.Provider != provider || i.Namespace != "" && i.Namespace != a.namespace
	})
	for i := range list {
		list[i].Status = cmp.Or(list[i].Status, dep.HealthPassing)
		if list[i].Meta == nil {
			list[i].Meta = map[string]string{}
		}
	}
	return list
}

// seen returns where the task reaches an instance.
func (a *answerer) seen(i Instance) taskenv.Endpoint {
	at := taskenv.Endpoint{Host: i.Address, Port: i.Port}
	if a.view != nil {
		at = a.view(at)
	}
	return at
}

func tags(i Instance) dep.ServiceTags { return slices.Sorted(slices.Values(i.Tags)) }

// byName returns the tags of all instances of each service.
func byName(list []Instance) map[string]dep.ServiceTags {
	all := map[string]map[string]bool{}
	for _, i := range list {
		if all[i.ServiceName] == nil {
			all[i.ServiceName] = map[string]bool{}
		}
		for _, tag := range i.Tags {
			all[i.ServiceName][tag] = true
		}
	}
	sorted := make(map[string]dep.ServiceTags, len(all))
	for name, tags := range all {
		sorted[name] = slices.Sorted(maps.Keys(tags))
	}
	return sorted
}

// tagAndName splits "[tag.]name[@…]". A tag may contain dots, a name may not.
func tagAndName(arg string) (tag, name string) {
	arg, _, _ = strings.Cut(arg, "@")
	if i := strings.LastIndexByte(arg, '.'); i >= 0 {
		return arg[:i], arg[i+1:]
	}
	return "", arg
}
