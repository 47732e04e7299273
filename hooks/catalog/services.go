package catalog

import (
	"slices"

	"taskrun/engine/leaf/service"
	"taskrun/hooks/template"
	"taskrun/jobspec/stub"
)

// Known gives templates the services of a catalog and those that elsewhere
// returns, which may be nil. It calls elsewhere only once a template asks for
// services; when the result of elsewhere changes, the catalog must be woken.
func Known(c *service.Catalog, elsewhere func() []*service.Instance) template.Services {
	return known{c, elsewhere}
}

type known struct {
	*service.Catalog
	elsewhere func() []*service.Instance
}

// Instances implements template.Services.
func (k known) Instances() []template.Instance {
	var list []template.Instance
	for _, s := range k.Services(service.All) {
		i := template.Instance{Instance: *s}
		if !k.Passes(s) {
			i.Status = "critical"
		}
		list = append(list, i)
	}
	if k.elsewhere != nil {
		for _, s := range k.elsewhere() {
			list = append(list, template.Instance{Instance: *s})
		}
	}
	return list
}

// healthy returns the healthy instances of a service that Consul would know in
// a namespace: those here, in other engines, and in the stubs.
func (k known) healthy(stubs *stub.Set, namespace, name string) (list []*service.Instance) {
	list = k.Services(service.Named(name))
	list = slices.DeleteFunc(list, func(i *service.Instance) bool { return !k.Passes(i) })
	if k.elsewhere != nil {
		list = append(list, k.elsewhere()...)
	}
	for _, s := range stubs.Services {
		list = append(list, service.OfStub(s))
	}
	return slices.DeleteFunc(list, func(i *service.Instance) bool {
		return i.ServiceName != name || i.Provider != "" && i.Provider != "consul" || i.Namespace != "" && i.Namespace != namespace
	})
}
