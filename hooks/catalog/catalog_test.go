package catalog_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
	"taskrun/hooks/catalog"
	"taskrun/hooks/template"
)

// Templates see the services registered here, those with failing checks as
// critical, and then those of other engines.
func TestKnown(t *testing.T) {
	t.Parallel()
	var c service.Catalog
	instance := func(id string) *service.Instance {
		return &service.Instance{
			ServiceRegistration: api.ServiceRegistration{
				ID: id, ServiceName: "name-" + id, Namespace: "ns", JobID: "job", AllocID: "alloc-" + id, Address: "192.0.2.1", Port: 80, Tags: []string{"t"},
			},
			Provider: "consul", Meta: map[string]string{"k": "v"},
		}
	}
	shown := func(id, status string) template.Instance {
		return template.Instance{Instance: *instance(id), Status: status}
	}
	c.Register(instance("bad"))
	c.Register(instance("good"))
	c.SetCheck("alloc-bad", api.AllocCheckStatus{ID: "check", Service: "name-bad", Status: "failure", Mode: "healthiness"})
	elsewhere := func() []*service.Instance { return []*service.Instance{instance("far")} }
	for _, tt := range []struct {
		elsewhere func() []*service.Instance
		want      []template.Instance
	}{
		{nil, []template.Instance{shown("bad", "critical"), shown("good", "")}},
		{elsewhere, []template.Instance{shown("bad", "critical"), shown("good", ""), shown("far", "")}},
	} {
		got := catalog.Known(&c, tt.elsewhere).Instances()
		slices.SortStableFunc(got[:2], func(a, b template.Instance) int { return strings.Compare(a.ID, b.ID) })
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("got  %+v\nwant %+v", got, tt.want)
		}
	}
}
