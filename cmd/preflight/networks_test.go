package preflight

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

func TestUnsupportedNetworks(t *testing.T) {
	t.Parallel()
	dns := &api.DNSConfig{Servers: []string{"10.0.0.1"}}
	for _, c := range []struct {
		name    string
		network *api.NetworkResource
		drivers []string
		want    string // part of the notice; "": none
	}{
		{"none", nil, []string{"raw_exec"}, ""},
		{"the machine's", &api.NetworkResource{Mode: "host"}, []string{"raw_exec"}, ""},
		{"dns for containers", &api.NetworkResource{DNS: dns}, []string{"docker"}, ""},
		{"dns for processes", &api.NetworkResource{DNS: dns}, []string{"raw_exec"}, "dns has no effect"},
		{"bridge for processes", &api.NetworkResource{Mode: "bridge"}, []string{"raw_exec"}, "the tasks use that of this machine"},
		{"bridge for containers", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "docker"}, ""},
		{"bridge for both", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "raw_exec"}, `task "t1" stays on the network of this machine`},
		{"bridge for more", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "raw_exec", "exec"}, "tasks t1, t2 stay"},
		{"cni", &api.NetworkResource{Mode: "cni/mine"}, []string{"docker"}, `CNI network "mine" is a network of the container engine, which only this run has`},
	} {
		g := &api.TaskGroup{Name: new("g")}
		if c.network != nil {
			g.Networks = []*api.NetworkResource{c.network}
		}
		for i, driver := range c.drivers {
			g.Tasks = append(g.Tasks, &api.Task{Name: "t" + string(rune('0'+i)), Driver: driver})
		}
		got := ""
		if c.network != nil {
			if p, ok := networkNotice(g, catalog.New(), jobspec.Root); ok {
				got = p.Summary
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}
