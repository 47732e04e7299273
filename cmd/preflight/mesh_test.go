package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// connected returns the text of a job with one service in each group; the tasks
// of the groups have a driver, and the groups the network mode bridge or another
// one, as "DRIVER MODE".
func connected(driver string, groups ...string) string {
	driver, mode, ok := strings.Cut(driver, " ")
	if !ok {
		mode = "bridge"
	}
	config := "command = \"/bin/true\""
	if driver == "docker" {
		config = "image = \"alpine:3\""
	}
	text := "job \"j\" {\n"
	for i, g := range groups {
		text += fmt.Sprintf("group \"g%d\" {\n network {\n mode = %q\n port \"p\" {\n static = 8080\n }\n }\n%s\ntask \"t\" {\n driver = %q\n config {\n%s\n}\n}\n}\n", i, mode, g, driver, config)
	}
	return text + "}\n"
}

// sidecar is a service with upstreams, as "NAME PORT".
func sidecar(name, port string, upstreams ...string) string {
	text := fmt.Sprintf("service {\n name = %q\n port = %q\n connect {\n sidecar_service {\n proxy {\n", name, port)
	for _, u := range upstreams {
		to, at, _ := strings.Cut(u, " ")
		text += fmt.Sprintf("upstreams {\n destination_name = %q\n %s\n}\n", to, at)
	}
	return text + "}\n}\n}\n}\n"
}

// gateway is an ingress gateway with listeners, as "PORT SERVICE...".
func gateway(listeners ...string) string {
	text := "service {\n name = \"gate\"\n port = \"p\"\n connect {\n gateway {\n ingress {\n"
	for _, l := range listeners {
		words := strings.Fields(l)
		text += "listener {\n port = " + words[0] + "\n protocol = \"http\"\n"
		for _, name := range words[1:] {
			text += fmt.Sprintf("service {\n name = %q\n}\n", name)
		}
		text += "}\n"
	}
	return text + "}\n}\n}\n}\n"
}

func TestConnectBlocks(t *testing.T) {
	t.Parallel()
	const (
		db       = "db local_bind_port = 9000"
		cache    = "cache local_bind_port = 9000"
		stubs    = "service \"db\" {\n address = \"127.0.0.1\"\n port = 5432\n}\nservice \"cache\" {\n address = \"127.0.0.1\"\n port = 9000\n}\n"
		noMesh   = "warning: there is no service mesh: upstreams are plain TCP connections"
		cannot   = `error: 127.0.0.1:9000 cannot lead to service "cache": `
		gateway8 = `error: 127.0.0.1:8080 cannot lead to service "db": `
	)
	for _, c := range []struct {
		name   string
		driver string
		groups []string
		taken  bool
		want   []string
	}{
		{"none", "raw_exec", []string{""}, false, nil},
		{"on this machine", "raw_exec", []string{sidecar("web", "p", db)}, false, nil},
		{"in containers", "docker", []string{sidecar("web", "p", db), sidecar("api", "p", db)}, false, nil},
		{"a shared address", "raw_exec", []string{sidecar("web", "p", db), sidecar("api", "p", db)}, false, nil},
		{"two services at one address", "raw_exec", []string{sidecar("web", "p", db), sidecar("api", "p", cache)}, false, []string{
			cannot + `it is the address of an upstream of group "g0", which leads to service "db", in the same network: that of this machine`,
		}},
		{"containers without a network of the group", "docker host", []string{sidecar("web", "p", db)}, false, []string{
			`warning: upstreams do not reach the tasks of group "g0": each container has a network of its own, where nothing listens; Nomad refuses the job`,
		}},
		{"two groups of containers", "docker", []string{sidecar("web", "p", db), sidecar("api", "p", cache)}, false, nil},
		{"twice in a container", "docker", []string{sidecar("web", "p", db, cache)}, false, []string{
			cannot + `it is the address of an upstream of group "g0", which leads to service "db", in the same network: that of the group`,
		}},
		{"of the container's service", "docker", []string{sidecar("web", "9000", cache)}, false, []string{
			cannot + `it is the address of service "web" of group "g0", in the same network: that of the group`,
		}},
		{"of a port", "raw_exec", []string{sidecar("web", "1", "db local_bind_port = 8080")}, false, []string{
			gateway8 + `it is the address of port "p" of group "g0", in the same network: that of this machine`,
		}},
		{"in use", "raw_exec", []string{sidecar("web", "p", db)}, true, []string{`error: 127.0.0.1:9000 cannot lead to service "db": it is in use`}},
		{"in use by the stub", "raw_exec", []string{sidecar("web", "p", cache)}, true, nil},
		{"in use, for a container", "docker", []string{sidecar("web", "p", db)}, true, nil},
		{"no port", "raw_exec", []string{sidecar("web", "p", "db ")}, false, []string{`error: upstream "db" has no local_bind_port: it is 0`}},
		{"no IP address", "docker", []string{sidecar("web", "p", db+"\nlocal_bind_address = \"localhost\"")}, false, []string{
			`error: local_bind_address is not an IP address: "localhost"`,
		}},
		{"unknown", "raw_exec", []string{sidecar("web", "p", "x local_bind_port = 1")}, false, []string{
			`warning: upstream "x" needs service "x", which is not running here: no stub defines it: its connections are closed`,
		}},
		{"gateway at its own port", "raw_exec", []string{gateway("8080 db")}, false, nil},
		{"gateway beside containers", "docker", []string{gateway("8080 db")}, false, nil},
		{"gateway at the port of another group", "raw_exec", []string{gateway("8081 db"), sidecar("web", "8081")}, false, []string{
			`error: 127.0.0.1:8081 cannot lead to service "db": it is the address of service "web" of group "g1", in the same network: that of this machine`,
		}},
		{"gateway for all", "raw_exec", []string{gateway("8080 *")}, false, []string{`error: a listener for all services is not supported: a forward leads to one service`}},
		{"gateway for two", "raw_exec", []string{gateway("8080 db cache")}, false, []string{
			`warning: the listener at port 8080 leads to service "db" only: requests are not read, so their host decides nothing`,
		}},
		{"native", "raw_exec", []string{"service {\n name = \"n\"\n port = \"p\"\n connect {\n native = true\n}\n}\n"}, false, []string{
			"warning: connect native has no Consul: CONSUL_HTTP_ADDR names an agent of this machine, at 127.0.0.1:8500: taskrun starts none; it has no certificates, and CONSUL_HTTP_TOKEN is that of the stubs",
		}},
		{"another gateway", "raw_exec", []string{"service {\n name = \"out\"\n connect {\n gateway {\n mesh {}\n}\n}\n}\n"}, false, []string{
			"error: mesh gateways are not supported: there is one machine and no mesh to leave or to join",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pc := caseOf(t, Up, stubs, connected(c.driver, c.groups...))
			if c.taken {
				pc.Taken = func(int) error { return errors.New("it is in use") }
			}
			pc.Prepare()
			var got []string
			for _, p := range connects(pc) {
				text := strings.ToLower(p.Severity.String()) + ": " + p.Summary
				if p.Detail != "" && text != noMesh {
					text += ": " + p.Detail
				}
				if text != noMesh {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A check with expose gets a port and a path to the service that it checks, once.
func TestExposedChecks(t *testing.T) {
	t.Parallel()
	check := func(port string) string {
		return "check {\n type = \"http\"\n path = \"/ok\"\n interval = \"1s\"\n timeout = \"1s\"\n expose = true\n" + port + "}\n"
	}
	service := func(port, checks string) string {
		return fmt.Sprintf("service {\n name = \"web\"\n port = %q\n connect {\n sidecar_service {}\n}\n%s}\n", port, checks)
	}
	for _, c := range []struct {
		name, group string
		ports       int // that are added
		want        []string
	}{
		{"a number", service("9001", check("")), 1, []string{"svc_web_ck_* → 9001/ok"}},
		{"a static port", service("p", check("")), 1, []string{"svc_web_ck_* → 8080/ok"}},
		{"with a port", service("9001", check("port = \"p\"\n")), 0, []string{"p → 9001/ok"}},
		{"an unknown port", service("${meta.port}", check("")), 0, nil},
		{"no check", service("9001", ""), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pc := caseOf(t, Up, "", connected("docker", c.group))
			pc.Prepare()
			g := pc.Files[0].Job.TaskGroups[0]
			for range 2 {
				var got []string
				if p := g.Services[0].Connect.SidecarService.Proxy; p != nil && p.Expose != nil {
					for _, e := range p.Expose.Paths {
						label := e.ListenerPort
						if strings.HasPrefix(label, "svc_web_ck_") {
							if !slices.ContainsFunc(g.Networks[0].DynamicPorts, func(p api.Port) bool { return p.Label == label && p.To == -1 }) {
								t.Errorf("there is no port %q", label)
							}
							label = "svc_web_ck_*"
						}
						got = append(got, fmt.Sprintf("%s → %d%s", label, e.LocalPathPort, e.Path))
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" || len(g.Networks[0].DynamicPorts) != c.ports {
					t.Errorf("%d ports; (-want +got):\n%s", len(g.Networks[0].DynamicPorts), diff)
				}
				addExposed(pc.Files[0].Job) // again, without effect
			}
		})
	}
}

// A gateway listens nowhere in a rehearsal, which has no other part.
func TestUntestedGateway(t *testing.T) {
	t.Parallel()
	text := strings.Split(connected("", gateway("8080 db")), "\ntask ")[0] + "\n}\n}\n"
	pc := caseOf(t, Rehearse, "", text)
	pc.Prepare()
	var got []string
	for _, p := range pc.Untested() {
		got = append(got, p.Summary)
	}
	if want := []string{`the listeners of ingress gateway "gate"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
