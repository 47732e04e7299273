package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// nomadService returns a valid service with port "http".
func nomadService() *api.Service {
	return &api.Service{Name: "web", Provider: "nomad", PortLabel: "http"}
}

func TestServiceRules(t *testing.T) {
	t.Parallel()
	group := func(edit func(*api.Service)) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			s := nomadService()
			edit(s)
			g.Services = []*api.Service{s}
		}
	}
	task := func(edit func(*api.Service)) func(*api.Task) {
		return func(t *api.Task) {
			s := nomadService()
			edit(s)
			t.Services = []*api.Service{s}
		}
	}
	checkFaults(t, []fault{
		{name: "valid in a group", group: group(func(s *api.Service) { s.TaskName = "t" })},
		{name: "valid in a task", task: task(func(s *api.Service) { s.TaskName = "t" })},
		{name: "name with references", group: group(func(s *api.Service) { s.Name = "${NOMAD_JOB_NAME}-x${TASK}" })},
		{name: "name", group: group(func(s *api.Service) { s.Name = "under_score" }), want: []string{"error job.group[0].service[0].name: invalid service name"}},
		{name: "name with a dash in front", group: group(func(s *api.Service) { s.Name = "-a" }), want: []string{"error job.group[0].service[0].name: invalid service name"}},
		{name: "name too long", group: group(func(s *api.Service) { s.Name = strings.Repeat("a", 64) }), want: []string{"error job.group[0].service[0].name: invalid service name"}},
		{name: "name with a malformed reference", group: group(func(s *api.Service) { s.Name = "${ A }" }), want: []string{"error job.group[0].service[0].name: invalid service name"}},
		{name: "address mode", group: group(func(s *api.Service) { s.AddressMode = "hsot" }), want: []string{"error job.group[0].service[0].address_mode: unknown address mode"}},
		{name: "address with mode", group: group(func(s *api.Service) { s.AddressMode, s.Address = "host", "a.example" }), want: []string{"error job.group[0].service[0].address_mode: an \"address\" needs address_mode auto"}},
		{name: "on_update", group: group(func(s *api.Service) { s.OnUpdate = "never" }), want: []string{"error job.group[0].service[0].on_update: unknown on_update value"}},
		{name: "provider", group: group(func(s *api.Service) { s.Provider = "etcd" }), want: []string{"error job.group[0].service[0].provider: unknown service provider"}},
		{name: "kind", group: group(func(s *api.Service) { s.Provider, s.Kind = "consul", "gateway" }), want: []string{"error job.group[0].service[0].kind: unknown service kind"}},
		{
			name: "identity", group: group(func(s *api.Service) { s.Identity = &api.WorkloadIdentity{Name: "x", TTL: time.Hour} }),
			want: []string{"error job.group[0].service[0].identity: identity of a service has no audience", "hint job.group[0].service[0].identity: identity has no audience"},
		},
		{name: "driver mode in a group", group: group(func(s *api.Service) { s.AddressMode = "driver" }), want: []string{"error job.group[0].service[0].address_mode: address_mode driver is for services of a task"}},
		{name: "unknown task", group: group(func(s *api.Service) { s.TaskName = "tt" }), want: []string{`warning job.group[0].service[0].task: task "tt" is not defined`}},
		{name: "unknown port", group: group(func(s *api.Service) { s.PortLabel = "https" }), want: []string{`error job.group[0].service[0].port: port "https" is not defined`}},
		{name: "port number in a group", group: group(func(s *api.Service) { s.PortLabel = "8080" })},
		{name: "port of a reference", group: group(func(s *api.Service) { s.PortLabel = "${meta.port}" })},

		{name: "alloc mode in a task", task: task(func(s *api.Service) { s.AddressMode = "alloc" }), want: []string{"error job.group[0].task[0].service[0].address_mode: address_mode alloc is for services of a group"}},
		{name: "another task", task: task(func(s *api.Service) { s.TaskName = "u" }), want: []string{"error job.group[0].task[0].service[0].task: a service of a task belongs to that task"}},
		{
			name: "connect in a task", task: task(func(s *api.Service) { s.Provider, s.Connect = "consul", &api.ConsulConnect{Native: true} }),
			want: []string{"error job.group[0].task[0].service[0].connect: connect is for services of a group"},
		},
		{name: "unknown port in a task", task: task(func(s *api.Service) { s.PortLabel = "https" }), want: []string{`error job.group[0].task[0].service[0].port: port "https" is not defined`}},
		{name: "port number in a task", task: task(func(s *api.Service) { s.PortLabel = "80" }), want: []string{"error job.group[0].task[0].service[0].port: a port number needs address_mode driver"}},
		{name: "port number in driver mode", task: task(func(s *api.Service) { s.AddressMode, s.PortLabel = "driver", "80" })},
		{name: "port 0 in driver mode", task: task(func(s *api.Service) { s.AddressMode, s.PortLabel = "driver", "0" }), want: []string{"error job.group[0].task[0].service[0].port: port is out of range"}},
		{
			name: "port of the second network",
			group: func(g *api.TaskGroup) {
				g.Networks = append(g.Networks, &api.NetworkResource{DynamicPorts: []api.Port{{Label: "second"}}})
			},
			task: task(func(s *api.Service) { s.PortLabel = "second" }),
			want: []string{
				"warning job.group[0].network[1]: network has no effect",
				`error job.group[0].task[0].service[0].port: port "second" is not defined`,
			},
		},
		{
			name: "port of the task's network",
			task: func(t *api.Task) {
				t.Resources = &api.Resources{Networks: []*api.NetworkResource{{ReservedPorts: []api.Port{{Label: "own", Value: 80}}}}}
				task(func(s *api.Service) { s.PortLabel = "own" })(t)
			},
			want: []string{"hint job.group[0].task[0].resources.network[0]: a network in a task is deprecated"},
		},
	})
}

func TestServicesOfAGroup(t *testing.T) {
	t.Parallel()
	checkFaults(t, []fault{
		{
			name:  "one name, two owners",
			group: func(g *api.TaskGroup) { g.Services = []*api.Service{nomadService()} },
			task:  func(t *api.Task) { t.Services = []*api.Service{nomadService()} },
		},
		{
			name:  "one name twice",
			group: func(g *api.TaskGroup) { g.Services = []*api.Service{nomadService(), nomadService()} },
			want:  []string{`error job.group[0].service[1]: service "web" is defined twice`},
		},
		{
			name:  "two providers",
			group: func(g *api.TaskGroup) { g.Services = []*api.Service{nomadService()} },
			task:  func(t *api.Task) { t.Services = []*api.Service{{Name: "other"}} },
			want:  []string{"error job.group[0].task[0].service[0].provider: services of a group share one provider"},
		},
		{
			name:  "no shutdown_delay in the group",
			group: func(g *api.TaskGroup) { g.ShutdownDelay, g.Services = nil, []*api.Service{nomadService()} },
			task:  func(t *api.Task) { t.ShutdownDelay = 0 },
			want:  []string{"hint job.group[0]: group with a service has no shutdown_delay"},
		},
		{
			name:  "one shutdown_delay is enough for the group",
			group: func(g *api.TaskGroup) { g.ShutdownDelay, g.Services = nil, []*api.Service{nomadService()} },
		},
		{
			name: "no shutdown_delay in the task of a group's service",
			group: func(g *api.TaskGroup) {
				g.Services = []*api.Service{nomadService()}
				g.Services[0].TaskName = "t"
			},
			task: func(t *api.Task) { t.ShutdownDelay = 0 },
			want: []string{"hint job.group[0].task[0]: task with a service has no shutdown_delay"},
		},
		{
			name: "no shutdown_delay in a task with a service",
			task: func(t *api.Task) { t.ShutdownDelay, t.Services = 0, []*api.Service{nomadService()} },
			want: []string{"hint job.group[0].task[0]: task with a service has no shutdown_delay"},
		},
	})
}

func TestCheckRules(t *testing.T) {
	t.Parallel()
	check := func(provider string, edit func(*api.ServiceCheck)) *api.Service {
		s := nomadService()
		s.Provider = provider
		k := api.ServiceCheck{Type: "http", Path: "/", Interval: time.Second, Timeout: time.Second}
		edit(&k)
		s.Checks = []api.ServiceCheck{k}
		return s
	}
	nomad := func(edit func(*api.ServiceCheck)) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Services = []*api.Service{check("nomad", edit)} }
	}
	consul := func(edit func(*api.ServiceCheck)) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Services = []*api.Service{check("consul", edit)} }
	}
	const at = "error job.group[0].service[0].check[0]"
	checkFaults(t, []fault{
		{name: "http", group: nomad(func(k *api.ServiceCheck) { k.Method = "get" })},
		{name: "tcp", group: nomad(func(k *api.ServiceCheck) { k.Type, k.Path = "tcp", "" })},
		{name: "grpc", group: consul(func(k *api.ServiceCheck) { k.Type, k.SuccessBeforePassing = "grpc", 2 })},
		{name: "script", group: consul(func(k *api.ServiceCheck) { k.Type, k.Command, k.TaskName = "script", "/bin/true", "t" })},
		{name: "no type", group: consul(func(k *api.ServiceCheck) { k.Type = "" }), want: []string{at + ".type: check type is missing"}},
		{name: "type", group: consul(func(k *api.ServiceCheck) { k.Type = "ping" }), want: []string{at + ".type: unknown check type"}},
		{name: "script of nomad", group: nomad(func(k *api.ServiceCheck) { k.Type, k.TaskName = "script", "t" }), want: []string{at + ".type: a nomad service has no script checks"}},
		{name: "no path", group: nomad(func(k *api.ServiceCheck) { k.Path = "" }), want: []string{at + ": http check has no path"}},
		{name: "URL", group: nomad(func(k *api.ServiceCheck) { k.Path = "http://a/b?c" }), want: []string{at + ".path: path is a whole URL"}},
		{name: "path", group: nomad(func(k *api.ServiceCheck) { k.Path = "/%zz" }), want: []string{at + ".path: invalid path"}},
		{name: "no command", group: consul(func(k *api.ServiceCheck) { k.Type, k.TaskName = "script", "t" }), want: []string{at + ": script check has no command"}},
		{name: "no interval", group: nomad(func(k *api.ServiceCheck) { k.Interval = 0 }), want: []string{at + ".interval: check has no interval"}},
		{name: "short timeout", group: nomad(func(k *api.ServiceCheck) { k.Timeout = time.Millisecond }), want: []string{at + ".timeout: timeout of the check is too short"}},
		{name: "initial status", group: nomad(func(k *api.ServiceCheck) { k.InitialStatus = "unknown" }), want: []string{at + ".initial_status: unknown initial status"}},
		{name: "address mode", group: nomad(func(k *api.ServiceCheck) { k.AddressMode = "auto" }), want: []string{at + ".address_mode: unknown address mode of a check"}},
		{name: "on_update", group: nomad(func(k *api.ServiceCheck) { k.OnUpdate = "never" }), want: []string{at + ".on_update: unknown on_update value"}},
		{
			name: "restart on what is ignored", group: nomad(func(k *api.ServiceCheck) { k.OnUpdate, k.CheckRestart = "ignore", &api.CheckRestart{Limit: 1} }),
			want: []string{at + `.on_update: on_update "ignore" excludes check_restart`},
		},
		{
			name: "restart on ignored warnings", group: consul(func(k *api.ServiceCheck) { k.OnUpdate, k.CheckRestart = "ignore_warnings", &api.CheckRestart{Limit: 1} }),
			want: []string{at + `.on_update: on_update "ignore_warnings" excludes a check_restart that counts them`},
		},
		{
			name: "restart limits", group: nomad(func(k *api.ServiceCheck) { k.CheckRestart = &api.CheckRestart{Limit: -1, Grace: new(-time.Second)} }),
			want: []string{at + ".check_restart.limit: limit is negative", at + ".check_restart.grace: grace is negative"},
		},
		{
			name:  "no port",
			group: func(g *api.TaskGroup) { nomad(func(*api.ServiceCheck) {})(g); g.Services[0].PortLabel = "" },
			want:  []string{at + ": check has no port"},
		},
		{
			name: "no port of a terminating gateway",
			group: func(g *api.TaskGroup) {
				consul(func(*api.ServiceCheck) {})(g)
				g.Networks[0].Mode, g.Services[0].PortLabel = "bridge", ""
				g.Services[0].Connect = &api.ConsulConnect{Gateway: &api.ConsulGateway{Terminating: &api.ConsulTerminatingConfigEntry{Services: []*api.ConsulLinkedService{{Name: "x"}}}}}
			},
		},
		{name: "unknown port", group: nomad(func(k *api.ServiceCheck) { k.PortLabel = "admin" }), want: []string{at + `.port: port "admin" is not defined`}},
		{name: "script without task", group: consul(func(k *api.ServiceCheck) { k.Type, k.Command = "script", "/bin/true" }), want: []string{at + ": script check names no task"}},
		{name: "unknown task", group: nomad(func(k *api.ServiceCheck) { k.TaskName = "tt" }), want: []string{at + `.task: task "tt" is not defined`}},
		{name: "driver mode in a group", group: consul(func(k *api.ServiceCheck) { k.AddressMode, k.TaskName = "driver", "t" }), want: []string{at + ".address_mode: address_mode driver is for services of a task"}},
		{name: "advertise", group: consul(func(k *api.ServiceCheck) { k.Advertise = "a" }), want: []string{"hint job.group[0].service[0].check[0].advertise: advertise has no effect"}},
		{name: "expose tcp", group: consul(func(k *api.ServiceCheck) { k.Type, k.Expose = "tcp", true }), want: []string{at + ".expose: expose is for http and grpc checks"}},
		{
			name: "threshold of a script",
			group: consul(func(k *api.ServiceCheck) {
				k.Type, k.Command, k.TaskName, k.FailuresBeforeCritical = "script", "/bin/true", "t", 2
			}),
			want: []string{at + ".failures_before_critical: failures_before_critical is for tcp, http and grpc checks"},
		},
		{name: "notes", group: consul(func(k *api.ServiceCheck) { k.Notes = strings.Repeat("x", 256) }), want: []string{at + ".notes: notes are too long"}},
		{
			name: "Consul's features of a nomad check",
			group: nomad(func(k *api.ServiceCheck) {
				k.Expose, k.SuccessBeforePassing, k.FailuresBeforeCritical, k.FailuresBeforeWarning, k.TLSServerName = true, 1, 1, 1, "a"
				k.OnUpdate, k.CheckRestart, k.AddressMode, k.Method = "ignore_warnings", &api.CheckRestart{IgnoreWarnings: true}, "driver", "FETCH"
			}),
			want: []string{
				at + ".expose: expose needs provider consul",
				at + ".success_before_passing: success_before_passing needs provider consul",
				at + ".failures_before_critical: failures_before_critical needs provider consul",
				at + ".failures_before_warning: failures_before_warning needs provider consul",
				at + ".tls_server_name: tls_server_name needs provider consul",
				at + ".on_update: checks of a nomad service have no warnings",
				at + ".check_restart.ignore_warnings: checks of a nomad service have no warnings",
				at + ".address_mode: address_mode driver needs provider consul",
				at + ".method: unknown HTTP method",
			},
		},
	})
}

func TestChecksOfATask(t *testing.T) {
	t.Parallel()
	checks := func(s api.Service, checks ...api.ServiceCheck) func(*api.Task) {
		for i := range checks {
			checks[i].Interval, checks[i].Timeout = time.Second, time.Second
		}
		s.Name, s.Checks = "web", checks
		return func(t *api.Task) { t.Services = []*api.Service{&s} }
	}
	const at = "error job.group[0].task[0].service[0]"
	checkFaults(t, []fault{
		{name: "port of the service", task: checks(api.Service{PortLabel: "http"}, api.ServiceCheck{Type: "tcp", TaskName: "t"})},
		{name: "port of its own", task: checks(api.Service{}, api.ServiceCheck{Type: "tcp", PortLabel: "http"})},
		{name: "number in driver mode", task: checks(api.Service{}, api.ServiceCheck{Type: "tcp", PortLabel: "80", AddressMode: "driver"})},
		{
			name: "two unnamed", task: checks(api.Service{PortLabel: "http"}, api.ServiceCheck{Type: "tcp"}, api.ServiceCheck{Type: "http", Path: "/"}),
			want: []string{at + ".check[1]: checks of a service need names of their own"},
		},
		{name: "another task", task: checks(api.Service{PortLabel: "http"}, api.ServiceCheck{Type: "tcp", TaskName: "u"}), want: []string{at + ".check[0].task: a check of a task's service belongs to that task"}},
		{name: "alloc mode", task: checks(api.Service{PortLabel: "http"}, api.ServiceCheck{Type: "tcp", AddressMode: "alloc_ipv6"}), want: []string{at + ".check[0].address_mode: address_mode alloc_ipv6 is for services of a group"}},
		{name: "unknown port", task: checks(api.Service{}, api.ServiceCheck{Type: "tcp", PortLabel: "x"}), want: []string{at + `.check[0].port: port "x" is not defined`}},
		{name: "number", task: checks(api.Service{}, api.ServiceCheck{Type: "tcp", PortLabel: "80"}), want: []string{at + ".check[0].port: a port number needs address_mode driver"}},
		{
			name: "number of the service", task: checks(api.Service{PortLabel: "80", AddressMode: "driver"}, api.ServiceCheck{Type: "tcp"}),
			want: []string{at + ".check[0]: a port number needs address_mode driver"},
		},
	})
}

func TestConnectRules(t *testing.T) {
	t.Parallel()
	connect := func(c *api.ConsulConnect) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.Services = []*api.Service{{Name: "web", PortLabel: "http", Connect: c}}
		}
	}
	gateway := func(k api.ConsulGateway) func(*api.TaskGroup) { return connect(&api.ConsulConnect{Gateway: &k}) }
	ingress := func(l api.ConsulIngressListener) func(*api.TaskGroup) {
		return gateway(api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{Listeners: []*api.ConsulIngressListener{&l}}})
	}
	transparent := func(p api.ConsulTransparentProxy) func(*api.TaskGroup) {
		return connect(&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Proxy: &api.ConsulProxy{TransparentProxy: &p}}})
	}
	const at = "error job.group[0].service[0].connect"
	const listener = at + ".gateway.ingress.listener[0]"
	const terminating = at + ".gateway.terminating.service[0]"
	named := []*api.ConsulIngressService{{Name: "db"}}
	checkFaults(t, []fault{
		{name: "native", group: connect(&api.ConsulConnect{Native: true})},
		{name: "sidecar", group: connect(&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}})},
		{name: "nothing", group: connect(&api.ConsulConnect{}), want: []string{at + ": connect is one of native, sidecar_service and gateway"}},
		{
			name: "two", group: connect(&api.ConsulConnect{Native: true, SidecarService: &api.ConsulSidecarService{}}),
			want: []string{at + ": connect is one of native, sidecar_service and gateway"},
		},
		{
			name: "nomad", group: func(g *api.TaskGroup) { connect(&api.ConsulConnect{Native: true})(g); g.Services[0].Provider = "nomad" },
			want: []string{at + ": connect needs provider consul"},
		},
		{
			name: "native without task and port",
			group: func(g *api.TaskGroup) {
				connect(&api.ConsulConnect{Native: true})(g)
				g.Services[0].PortLabel = ""
				g.Tasks = append(g.Tasks, &api.Task{Name: "u", Driver: "raw_exec"})
			},
			want: []string{"error job.group[0].service[0]: connect native needs a task", "error job.group[0].service[0]: connect native needs a port"},
		},
		{
			name: "tcp check behind a sidecar",
			group: func(g *api.TaskGroup) {
				connect(&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}})(g)
				g.Services[0].Checks = []api.ServiceCheck{{Type: "tcp", Interval: time.Second, Timeout: time.Second}}
			},
			want: []string{"error job.group[0].service[0].check[0].type: a tcp check cannot reach a service behind a sidecar"},
		},
		{
			name: "sidecar task without shutdown_delay", group: connect(&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}, SidecarTask: &api.SidecarTask{}}),
		},
		{
			name: "transparent proxy", group: transparent(api.ConsulTransparentProxy{UID: "envoy", ExcludeUIDs: []string{"65536"}, ExcludeOutboundCIDRs: []string{"10.0.0.1"}}),
			want: []string{
				at + ".sidecar_service.proxy.transparent_proxy.exclude_outbound_cidrs: invalid CIDR",
				at + ".sidecar_service.proxy.transparent_proxy.uid: invalid user ID",
				at + ".sidecar_service.proxy.transparent_proxy.exclude_uids: invalid user ID",
			},
		},
		{name: "mesh", group: gateway(api.ConsulGateway{Mesh: &api.ConsulMeshConfigEntry{}})},
		{
			name: "gateway of a group without tasks",
			group: func(g *api.TaskGroup) {
				gateway(api.ConsulGateway{Mesh: &api.ConsulMeshConfigEntry{}})(g)
				g.Tasks = nil
			},
			want: []string{"warning job.group[0]: group has no task of its own"},
		},
		{name: "no kind of gateway", group: gateway(api.ConsulGateway{}), want: []string{at + ".gateway: gateway is one of ingress, terminating and mesh"}},
		{
			name: "discovery type", group: gateway(api.ConsulGateway{Mesh: &api.ConsulMeshConfigEntry{}, Proxy: &api.ConsulGatewayProxy{EnvoyDNSDiscoveryType: "strict"}}),
			want: []string{at + ".gateway.proxy.envoy_dns_discovery_type: unknown DNS discovery type"},
		},
		{name: "ingress", group: ingress(api.ConsulIngressListener{Port: 80, Protocol: "http", Services: []*api.ConsulIngressService{{Name: "*"}}})},
		{name: "no listener", group: gateway(api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{}}), want: []string{at + ".gateway.ingress: ingress gateway has no listener"}},
		{
			name: "empty listener", group: ingress(api.ConsulIngressListener{Protocol: "udp"}),
			want: []string{listener + ".port: listener has no port", listener + ".protocol: unknown protocol of a listener", listener + ": listener has no service"},
		},
		{name: "unnamed service", group: ingress(api.ConsulIngressListener{Port: 80, Services: []*api.ConsulIngressService{{}}}), want: []string{listener + ".service[0]: service of a listener has no name"}},
		{name: "tcp wildcard", group: ingress(api.ConsulIngressListener{Port: 80, Services: []*api.ConsulIngressService{{Name: "*"}}}), want: []string{listener + ".service[0].name: a tcp listener has no wildcard service"}},
		{name: "tcp", group: ingress(api.ConsulIngressListener{Port: 80, Services: named})},
		{name: "tcp with hosts", group: ingress(api.ConsulIngressListener{Port: 80, Services: []*api.ConsulIngressService{{Name: "a", Hosts: []string{"h"}}}}), want: []string{listener + ".service[0].hosts: a tcp listener has no hosts"}},
		{
			name: "wildcard with hosts", group: ingress(api.ConsulIngressListener{Port: 80, Protocol: "http", Services: []*api.ConsulIngressService{{Name: "*", Hosts: []string{"h"}}}}),
			want: []string{listener + ".service[0].hosts: a wildcard service has no hosts"},
		},
		{name: "no linked service", group: gateway(api.ConsulGateway{Terminating: &api.ConsulTerminatingConfigEntry{}}), want: []string{at + ".gateway.terminating: terminating gateway has no service"}},
		{
			name: "linked service", group: gateway(api.ConsulGateway{Terminating: &api.ConsulTerminatingConfigEntry{Services: []*api.ConsulLinkedService{{CertFile: "c"}}}}),
			want: []string{
				terminating + ": service of a gateway has no name",
				terminating + ": TLS needs a CA file",
				terminating + ": cert_file and key_file go together",
			},
		},
	})
}
