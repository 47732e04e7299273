package validate

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestNetworkRules(t *testing.T) {
	t.Parallel()
	network := func(n api.NetworkResource) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Networks = []*api.NetworkResource{&n} }
	}
	dynamic := func(ports ...api.Port) api.NetworkResource { return api.NetworkResource{DynamicPorts: ports} }
	static := func(ports ...api.Port) api.NetworkResource { return api.NetworkResource{ReservedPorts: ports} }
	inTask := func(n api.NetworkResource) func(*api.Task) {
		return func(t *api.Task) { t.Resources = &api.Resources{Networks: []*api.NetworkResource{&n}} }
	}
	const deprecated = "hint job.group[0].task[0].resources.network[0]: a network in a task is deprecated"
	withDrivers := func(group func(*api.TaskGroup), drivers ...string) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			group(g)
			for i, driver := range drivers {
				if i > 0 {
					g.Tasks = append(g.Tasks, api.NewTask("more", driver))
				}
				g.Tasks[i].Driver = driver
			}
		}
	}
	to := dynamic(api.Port{Label: "a", To: 8080})
	unmapped := []string{`warning job.group[0].network[0].port["a"].to: nothing forwards this port`}
	checkFaults(t, []fault{
		{name: "to the same number", group: network(dynamic(api.Port{Label: "a", To: -1}))},
		{name: "to in a bridge", group: network(api.NetworkResource{Mode: "bridge", DynamicPorts: []api.Port{{Label: "b", To: 65535}}})},
		{name: "to in the host network", group: network(to), want: unmapped},
		{name: "to in mode host", group: network(api.NetworkResource{Mode: "host", DynamicPorts: to.DynamicPorts}), want: unmapped},
		{name: "to of processes", group: withDrivers(network(to), "exec", "java"), want: unmapped},
		{name: "to of a container", group: withDrivers(network(to), "raw_exec", "docker")},
		{name: "to the static port", group: network(static(api.Port{Label: "a", Value: 8080, To: 8080}))},
		{
			name: "label twice", group: network(api.NetworkResource{ReservedPorts: []api.Port{{Label: "p", Value: 1}}, DynamicPorts: []api.Port{{Label: "p"}}}),
			want: []string{`error job.group[0].network[0].port["p"]: port "p" is defined twice`},
		},
		{
			name: "static port twice", group: network(static(api.Port{Label: "a", Value: 8000}, api.Port{Label: "b", Value: 8000, HostNetwork: "default"})),
			want: []string{`error job.group[0].network[0].port["b"].static: static port 8000 is taken`},
		},
		{name: "static port twice, on two host networks", group: network(static(api.Port{Label: "a", Value: 8000}, api.Port{Label: "b", Value: 8000, HostNetwork: "public"}))},
		{name: "static port twice, on purpose", group: network(static(api.Port{Label: "a", Value: 8000}, api.Port{Label: "b", Value: 8000, IgnoreCollision: true}))},
		{name: "static 70000", group: network(static(api.Port{Label: "a", Value: 70000})), want: []string{`error job.group[0].network[0].port["a"].static: port is out of range`}},
		{name: "static -1", group: network(dynamic(api.Port{Label: "a", Value: -1})), want: []string{`error job.group[0].network[0].port["a"].static: port is out of range`}},
		{name: "to -2", group: network(dynamic(api.Port{Label: "a", To: -2})), want: []string{`error job.group[0].network[0].port["a"].to: port is out of range`}},
		{name: "to 65536", group: network(dynamic(api.Port{Label: "a", To: 65536})), want: []string{`error job.group[0].network[0].port["a"].to: port is out of range`}},
		{
			name: "ignore_collision in a bridge", group: network(api.NetworkResource{Mode: "bridge", ReservedPorts: []api.Port{{Label: "a", Value: 1, IgnoreCollision: true}}}),
			want: []string{`error job.group[0].network[0].port["a"].ignore_collision: ignore_collision is for the host network`},
		},
		{name: "cni", group: network(api.NetworkResource{Mode: "cni/mine", CNI: &api.CNIConfig{Args: map[string]string{"A": "b"}}})},
		{name: "mode", group: network(api.NetworkResource{Mode: "birdge"}), want: []string{"warning job.group[0].network[0].mode: unknown network mode"}},
		{
			name: "cni arguments",
			group: func(g *api.TaskGroup) {
				g.Networks = []*api.NetworkResource{
					{CNI: &api.CNIConfig{Args: map[string]string{"A": "b;C=d"}}},
					{CNI: &api.CNIConfig{Args: map[string]string{"A": "b"}}},
				}
			},
			want: []string{
				"error job.group[0].network[0].cni.args.A: CNI argument contains a semicolon",
				"warning job.group[0].network[1]: network has no effect",
				`error job.group[0].network[1].cni.args.A: CNI argument "A" is set twice`,
			},
		},
		{name: "hostname", group: network(api.NetworkResource{Hostname: "web-1.example.com."})},
		{name: "hostname of a reference", group: network(api.NetworkResource{Hostname: "web..${NOMAD_ALLOC_INDEX}"})},
		{name: "hostname with two dots", group: network(api.NetworkResource{Hostname: "a..b"}), want: []string{"error job.group[0].network[0].hostname: hostname is not a DNS name"}},
		{name: "hostname too long", group: network(api.NetworkResource{Hostname: strings.Repeat("a", 64)}), want: []string{"error job.group[0].network[0].hostname: hostname is not a DNS name"}},
		{name: "hostname with a blank", group: network(api.NetworkResource{Hostname: "a b"}), want: []string{"warning job.group[0].network[0].hostname: hostname is not a DNS name"}},
		{
			name: "no effect", group: network(api.NetworkResource{Device: "eth0", MBits: new(10)}),
			want: []string{"hint job.group[0].network[0].device: device has no effect", "hint job.group[0].network[0].mbits: mbits has no effect"},
		},
		{name: "network of a task", task: inTask(dynamic(api.Port{Label: "admin"})), want: []string{deprecated}},
		{
			name: "label of the group in a task", task: inTask(dynamic(api.Port{Label: "http"})),
			want: []string{deprecated, `error job.group[0].task[0].resources.network[0].port["http"]: port "http" is defined twice`},
		},
		{
			name: "static port of the group in a task", group: network(static(api.Port{Label: "a", Value: 8000})),
			task: inTask(static(api.Port{Label: "b", Value: 8000, IgnoreCollision: true})),
			want: []string{deprecated, `error job.group[0].task[0].resources.network[0].port["b"].static: static port 8000 is taken`},
		},
	})
}
