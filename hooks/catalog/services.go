package catalog

import (
	"taskrun/engine/leaf/service"
	"taskrun/hooks/template"
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
