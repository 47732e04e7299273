package catalog

import (
	"taskrun/engine/service"
	"taskrun/hooks/template"
)

// known shows the services that run here to templates.
type known struct{ *service.Catalog }

// Instances implements template.Services.
func (k known) Instances() []template.Instance {
	var list []template.Instance
	for _, s := range k.Services(service.All) {
		i := template.Instance{
			ID: s.ID, Name: s.ServiceName, Namespace: s.Namespace, JobID: s.JobID, AllocID: s.AllocID,
			Address: s.Address, Port: s.Port, Tags: s.Tags, Meta: s.Meta, Provider: s.Provider,
		}
		if !k.Passes(s) {
			i.Status = "critical"
		}
		list = append(list, i)
	}
	return list
}
