package settings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

// same is one configuration in both syntaxes.
var same = map[string]string{
	"agent.hcl": `
name       = "node-1"
datacenter = "here"
region     = "r1"
data_dir   = "/var/lib/agent"
log_level  = "TRACE"
bind_addr  = "localhost"

ports {
  http = 4747
}

client {
  enabled          = true
  node_class       = "small"
  node_pool        = "p"
  max_kill_timeout = "90s"
  min_dynamic_port = 21000
  max_dynamic_port = "22000"

  meta {
    rack = "r7"
    size = 3
  }

  host_volume "data" {
    path      = "/srv/data"
    read_only = true
  }

  reserved {
    reserved_ports = "22,80,8500-8600"
  }
}

plugin "raw_exec" {
  config {
    enabled = true
  }
}

telemetry {
  prometheus_metrics = true
}
`,
	"agent.json": `{
	"name": "node-1", "datacenter": "here", "region": "r1", "data_dir": "/var/lib/agent", "log_level": "trace",
	"bind_addr": "127.0.0.1", "ports": {"http": 4747},
	"client": [{
		"enabled": true, "node_class": "small", "node_pool": "p", "max_kill_timeout": "90s",
		"min_dynamic_port": 21000, "max_dynamic_port": "22000", "meta": {"rack": "r7", "size": 3},
		"host_volume": {"data": {"path": "/srv/data", "read_only": true}},
		"reserved": {"reserved_ports": "22,80,8500-8600"}
	}],
	"plugin": {"raw_exec": {"config": {"enabled": true}}},
	"telemetry": {"prometheus_metrics": true}
}`,
}

func TestBothSyntaxesMeanTheSame(t *testing.T) {
	t.Parallel()
	want := Settings{
		Name: "node-1", Datacenter: "here", Region: "r1", DataDir: "/var/lib/agent", LogLevel: "debug", HTTPPort: 4747,
		Client: Client{
			Class: "small", Pool: "p", Meta: map[string]string{"rack": "r7", "size": "3"},
			HostVolumes:    map[string]HostVolume{"data": {"/srv/data", true}},
			MaxKillTimeout: 90 * time.Second, MinPort: 21000, MaxPort: 22000,
			ReservedPorts: "22,80,8500-8600",
		},
	}
	for name, text := range same {
		got, unheeded, diags := Read([]File{{name, []byte(text)}}, []string{"raw_exec"})
		if len(diags) > 0 || len(unheeded) > 0 {
			t.Errorf("%s: %v, %v", name, diags, unheeded)
		}
		if len(got.Plugins) != 1 || got.Plugins[0].File != name || got.Plugins[0].Block.Labels[0] != "raw_exec" {
			t.Errorf("%s: plugins %v", name, got.Plugins)
		}
		if at := got.HTTPAddress(0); at != "127.0.0.1:4747" {
			t.Errorf("%s: address %q", name, at)
		}
		got.Plugins, got.bind = nil, place{}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Settings{}, place{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Nomad's own API tests write such a file.
func TestFileOfNomadsTests(t *testing.T) {
	t.Parallel()
	const text = `{"name":"node-9","data_dir":"/tmp/nomad1","disable_update_check":true,"log_level":"ERROR",
		"ports":{"http":20101,"rpc":20102,"serf":20103},"server":{"enabled":true,"bootstrap_expect":1},
		"client":{"enabled":false,"options":{"test.tighten_network_timeouts":"true"}},"vault":{"enabled":false},"acl":{"enabled":false}}`
	got, unheeded, diags := Read([]File{{"nomad1", []byte(text)}}, nil)
	if len(diags) > 0 || got.Name != "node-9" || got.HTTPPort != 20101 || got.LogLevel != "error" {
		t.Errorf("%+v, %v", got, diags)
	}
	if text := names(unheeded); text != "disable_update_check:1 ports.rpc:2 ports.serf:2 server:2 client.enabled:3 client.options:3 vault:3 acl:3" {
		t.Error(text)
	}
}

// Resources are not reserved.
func TestReservedResourcesHaveNoEffect(t *testing.T) {
	t.Parallel()
	const text = "client {\n  reserved {\n    cpu = 500\n    memory = 512\n    disk = 1\n    reserved_ports = \"22\"\n  }\n}\n"
	got, unheeded, diags := Read([]File{{"f", []byte(text)}}, nil)
	if len(diags) > 0 || got.Client.ReservedPorts != "22" {
		t.Errorf("%+v, %v", got, diags)
	}
	if text := names(unheeded); text != "client.reserved.cpu:3 client.reserved.memory:4 client.reserved.disk:5" {
		t.Error(text)
	}
}

func names(list []Unheeded) string {
	var texts []string
	for _, u := range list {
		texts = append(texts, fmt.Sprintf("%s:%d", u.Name, u.At.Start.Line))
	}
	return strings.Join(texts, " ")
}

func TestLaterFilesWin(t *testing.T) {
	t.Parallel()
	got, unheeded, diags := Read([]File{
		{"a.hcl", []byte("name = \"a\"\nregion = \"r\"\nbind_addr = \"0.0.0.0\"\nconsul {\n  address = 3\n}\nclient {\n  meta {\n    x = 1\n    y = 1\n  }\n}\n")},
		{"b.json", []byte(`{"name": "b", "addresses": {"http": "::1"}, "consul": {"x": []}, "client": {"meta": {"y": "2"}}}`)},
	}, nil)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if got.Name != "b" || got.Region != "r" || got.HTTPAddress(4646) != "[::1]:4646" || got.HTTPAddress(0) != "" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]string{"x": "1", "y": "2"}, got.Client.Meta); diff != "" {
		t.Error(diff)
	}
	if text := names(unheeded); text != "consul:4" {
		t.Errorf("each setting is named once: %s", text)
	}
}

func TestMistakesHaveAPlaceAndARemedy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\nnaem = \"a\"\n":                                                        `f:2 unknown key "naem" | did you mean "name"?`,
		"client {\n  node_klass = \"a\"\n}\n":                                     `f:2 unknown key "node_klass" | did you mean "node_class"?`,
		"client {\n  qqqqqqq = 1\n}\n":                                            `f:2 unknown key "qqqqqqq" | delete it`,
		"bind_addr = \"0.0.0.0\"\n":                                               "f:1 the agent cannot listen at 0.0.0.0 | write 127.0.0.1, or put a proxy with authentication in front of it",
		"addresses {\n  http = \"{{ GetPrivateIP }}\"\n}":                         `f:2 invalid address "{{ GetPrivateIP }}" | write 127.0.0.1`,
		"ports {\n  http = 70000\n}\n":                                            `f:2 "http" is out of range | write a whole number from 1 to 65535`,
		"ports {\n  http = \"x\"\n}\n":                                            `f:2 "http" must be a number | write a number`,
		"ports = 3\n":                                                             `f:1 "ports" must be a block | write ports { … }`,
		"name {\n}\n":                                                             `f:1 "name" must be a string, not a block | write name = …`,
		"name = [1]\n":                                                            `f:1 "name" must be a string | write a string`,
		"log_level = \"loud\"\n":                                                  `f:1 unknown log level "loud" | write TRACE, DEBUG, INFO, WARN or ERROR`,
		"client {\n  max_kill_timeout = \"soon\"\n}\n":                            `f:2 "max_kill_timeout" must be a duration | write a duration such as 30s or 5m`,
		"client {\n  host_volume \"x\" {\n  }\n}\n":                               `f:2 host volume "x" needs an absolute path | write path = "/…"`,
		"client {\n  reserved {\n    cores = 1\n    ram = 1\n  }\n}\n":            `f:4 unknown key "ram" | delete it`,
		"client {\n  reserved {\n    reserved_ports = \"9-3\"\n  }\n}\n":          `f:3 invalid ports "9-3" | write ports and ranges, such as "22,8000-8100"`,
		"client {\n  min_dynamic_port = 9\n  max_dynamic_port = 8\n}\n":           "f:3 the range of dynamic ports is empty | swap the two",
		"client {\n  options {\n    \"driver.raw_exec.enable\" = \"1\"\n  }\n}\n": "f:3 the name of an attribute has no quotes | write the name without quotes; one with dots goes into a map: env = { \"A.B\" = \"1\" }",
		"name = \"a\nclient {":                                                    "f:1 this string is not closed | add the closing quote; text of several lines goes between <<EOT and EOT",
		"client {\n":                                                              "f:1 this block is not closed | add the missing }",
	} {
		_, _, diags := Read([]File{{"f", []byte(text)}}, nil)
		if len(diags) != 1 || diags[0].Severity != jobspec.Error {
			t.Errorf("%q: %v", text, diags)
			continue
		}
		d := diags[0]
		if got := fmt.Sprintf("%s:%d %s | %s", d.Range.File, d.Range.Start.Line, d.Summary, d.Remedy); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestPortsAtTheirLimits(t *testing.T) {
	t.Parallel()
	for port, valid := range map[int]bool{0: false, 1: true, 65535: true, 65536: false} {
		got, _, diags := Read([]File{{"f", fmt.Appendf(nil, "ports {\n  http = %d\n}\n", port)}}, nil)
		if valid && (len(diags) > 0 || got.HTTPAddress(0) != fmt.Sprint("127.0.0.1:", port)) || !valid && len(diags) != 1 {
			t.Errorf("%d: %q, %v", port, got.HTTPAddress(0), diags)
		}
	}
}

func TestTruncatedJSON(t *testing.T) {
	t.Parallel()
	text := same["agent.json"]
	for n := range len(text) - 1 {
		if n == 0 || strings.TrimSpace(text[:n]) == "" {
			continue
		}
		if _, _, diags := Read([]File{{"f", []byte(text[:n])}}, nil); !diags.HasErrors() || diags[0].Range.Start.Line == 0 {
			t.Fatalf("%q is accepted, or the mistake has no place: %v", text[:n], diags)
		}
	}
}

// FuzzRead: any text is either usable or has an error with a place in it.
func FuzzRead(f *testing.F) {
	for name, text := range same {
		f.Add(name, []byte(text))
	}
	f.Add("x", []byte("client { meta = [[{a=1}]] }"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		s, _, diags := Read([]File{{name, text}}, []string{"raw_exec"})
		if diags.HasErrors() {
			return
		}
		if _, err := json.Marshal(s.Client); err != nil {
			t.Error(err)
		}
		if s.HTTPPort != 0 && s.HTTPAddress(0) == "" {
			t.Errorf("port %d without an address", s.HTTPPort)
		}
	})
}
