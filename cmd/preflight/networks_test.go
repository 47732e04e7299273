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
		detail  string
	}{
		{"none", nil, []string{"raw_exec"}, "", ""},
		{"the machine's", &api.NetworkResource{Mode: "host"}, []string{"raw_exec"}, "", ""},
		{"dns for containers", &api.NetworkResource{DNS: dns}, []string{"docker"}, "", ""},
		{"dns for processes", &api.NetworkResource{DNS: dns}, []string{"raw_exec"}, "dns has no effect", "only docker and podman tasks can do otherwise"},
		{"bridge for processes", &api.NetworkResource{Mode: "bridge"}, []string{"raw_exec"}, "the tasks use that of this machine", "only docker and podman tasks can share one"},
		{"bridge for containers", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "docker"}, "", ""},
		{"bridge for both", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "raw_exec"}, `task "t1" stays on the network of this machine`, "the group's own is that of its containers (t0); reach them by NOMAD_ADDR_LABEL"},
		{"bridge for more", &api.NetworkResource{Mode: "bridge"}, []string{"docker", "raw_exec", "exec"}, "tasks t1, t2 stay", "the group's own is that of its containers (t0); reach them by NOMAD_ADDR_LABEL"},
		{"cni", &api.NetworkResource{Mode: "cni/mine"}, []string{"docker"}, `CNI network "mine" is a network of the container engine, which only this run has`, "the plugins of its CNI configuration have no effect"},
		{"cni for both", &api.NetworkResource{Mode: "cni/mine"}, []string{"docker", "raw_exec"}, `CNI network "mine"`, "the plugins of its CNI configuration have no effect; on the network of this machine: t1"},
	} {
		g := &api.TaskGroup{Name: new("g")}
		if c.network != nil {
			g.Networks = []*api.NetworkResource{c.network}
		}
		for i, driver := range c.drivers {
			g.Tasks = append(g.Tasks, &api.Task{Name: "t" + string(rune('0'+i)), Driver: driver})
		}
		got, detail := "", ""
		if c.network != nil {
			if p, ok := networkNotice(g, catalog.New(), jobspec.Root); ok {
				got, detail = p.Summary, p.Detail
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
		if detail != c.detail {
			t.Errorf("%s: detail %q, want %q", c.name, detail, c.detail)
		}
	}
}
