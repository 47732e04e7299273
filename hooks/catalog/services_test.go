package catalog

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
	"taskrun/jobspec/stub"
)

// A proxy leads to the healthy instances of a service in its namespace that Consul
// would know, wherever they are.
func TestHealthy(t *testing.T) {
	t.Parallel()
	var c service.Catalog
	instance := func(id, name, namespace, provider string) *service.Instance {
		return &service.Instance{
			ServiceRegistration: api.ServiceRegistration{ID: id, ServiceName: name, Namespace: namespace, AllocID: "alloc-" + id}, Provider: provider,
		}
	}
	for _, i := range []*service.Instance{
		instance("good", "db", "ns", "consul"), instance("bad", "db", "ns", "consul"), instance("nomads", "db", "ns", "nomad"),
		instance("other", "web", "ns", "consul"), instance("hidden", "db", "elsewhere", "consul"),
	} {
		c.Register(i)
	}
	c.SetCheck("alloc-bad", api.AllocCheckStatus{ID: "check", Service: "db", Status: "failure", Mode: "healthiness"})
	stubs, diagnostics := stub.Parse("taskrun.hcl", []byte(`
service "db" {
  address = "192.0.2.1"
  port    = 1
}
service "db" {
  provider = "nomad"
  address  = "192.0.2.2"
  port     = 1
}
service "web" { port = 1 }
`))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	far := func() []*service.Instance {
		return []*service.Instance{instance("far", "db", "ns", ""), instance("far-web", "web", "ns", "consul")}
	}
	for want, k := range map[string]known{"good 192.0.2.1": {Catalog: &c}, "good far 192.0.2.1": {&c, far}} {
		var got []string
		for _, i := range k.healthy(stubs, "ns", "db") {
			if i.Address != "" {
				i.ID = i.Address
			}
			got = append(got, i.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
