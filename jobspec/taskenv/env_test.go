package taskenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func TestSnapshotHasCleanNamesOnly(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	b := testBuilder(job, group, task)
	b.Ports = []Port{{Label: "a-b", Value: 1, HostIP: "::1"}}
	if got := b.Build().Replace("${NOMAD_PORT_a_b} ${NOMAD_PORT_a-b}"); got != "1 ${NOMAD_PORT_a-b}" {
		t.Errorf("got %q", got)
	}
}

func TestReplaceOrder(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	task.Env = map[string]string{"node.class": "env"}
	e := testBuilder(job, group, task).SetSecrets(map[string]string{"node.pool": "secret", "secret.s.k": "v"}).Build()
	for in, want := range map[string]string{
		"${node.class}":                      "env",
		"${node.pool}":                       "default",
		"${secret.s.k}":                      "v",
		"${node.attr.cpu} ${node.meta.rack}": "${node.attr.cpu} ${node.meta.rack}", // only in a config
		"${node.region} ${node.unique.name}": "global n1",
		"${attr.cpu}/${attr.nope}":           "1/${attr.nope}",
	} {
		if got := e.Replace(in); got != want {
			t.Errorf("Replace(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestReplaceAllAndMap(t *testing.T) {
	t.Parallel()
	e := envOf(map[string]string{"A": "1"})
	if diff := cmp.Diff([]string{"1", "${B}"}, e.ReplaceAll([]string{"${A}", "${B}"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"k1": "v1"}, e.ReplaceMap(map[string]string{"k${A}": "v${A}"})); diff != "" {
		t.Error(diff)
	}
	if e.ReplaceAll(nil) != nil || e.ReplaceMap(nil) != nil {
		t.Error("nothing became something")
	}
}

func TestLookupOfEverything(t *testing.T) {
	t.Parallel()
	e := envOf(map[string]string{"A": "1"})
	for name, want := range map[string]string{"A": "1", "attr.cpu.arch": "amd64", "meta.rack": "r7", "node.class": "c1"} {
		if got, _ := e.Lookup(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestClientPath(t *testing.T) {
	t.Parallel()
	const alloc = "/data/" + allocID
	for _, tc := range []struct {
		in      string
		join    string // expected with joinEscape
		keep    string // expected without
		escapes [2]bool
	}{
		{"local/x", alloc + "/t/local/x", alloc + "/t/local/x", [2]bool{}},
		{"", alloc + "/t", alloc + "/t", [2]bool{}},
		{"${NOMAD_TASK_DIR}/x", alloc + "/t/local/x", alloc + "/t/local/x", [2]bool{}},
		{"${NOMAD_SECRETS_DIR}/x", alloc + "/t/secrets/x", alloc + "/t/secrets/x", [2]bool{}},
		{"${NOMAD_ALLOC_DIR}/y", alloc + "/alloc/y", alloc + "/alloc/y", [2]bool{}},
		{"${DEEP}", alloc + "/t/local/deep", alloc + "/t/local/deep", [2]bool{}},
		{"../alloc/y", alloc + "/alloc/y", alloc + "/alloc/y", [2]bool{}},
		{"/etc/x", alloc + "/t/etc/x", "/etc/x", [2]bool{false, true}},
		{alloc + "/t/local/../x", alloc + "/t/x", alloc + "/t/x", [2]bool{}},
		{alloc + "/t/../../z", alloc + "/t/data/z", "/data/z", [2]bool{false, true}},
		{"../other/x", alloc + "/other/x", alloc + "/other/x", [2]bool{true, true}},
		{"../t2/x", alloc + "/t2/x", alloc + "/t2/x", [2]bool{true, true}},
		{"../allocx", alloc + "/allocx", alloc + "/allocx", [2]bool{true, true}},
		{"${UNKNOWN}/x", alloc + "/t/${UNKNOWN}/x", alloc + "/t/${UNKNOWN}/x", [2]bool{}},
	} {
		for _, isolated := range []bool{false, true} {
			job, group, task := testJob()
			task.Env = map[string]string{"DEEP": "${NOMAD_TASK_DIR}/deep"}
			b := testBuilder(job, group, task)
			if isolated {
				b.Dirs = Dirs{"/alloc", "/local", "/secrets"}
			}
			e := b.Build()
			for i, want := range []string{tc.join, tc.keep} {
				got, escapes := e.ClientPath(tc.in, i == 0)
				if got != want || escapes != tc.escapes[i] {
					t.Errorf("ClientPath(%q, %v) isolated %v = %q, %v, want %q, %v",
						tc.in, i == 0, isolated, got, escapes, want, tc.escapes[i])
				}
			}
		}
	}
}

// A task with a network of its own sees the machine's ports elsewhere. Which
// port it binds itself stays.
func TestView(t *testing.T) {
	t.Parallel()
	ports := []Port{{Label: "http", Value: 20001, To: 80, HostIP: "127.0.0.1"}, {Label: "raw", Value: 20002, HostIP: "127.0.0.1"}}
	b := NewBuilder(nil, AllocInfo{}, nil, nil, &api.Task{Name: "t", Env: map[string]string{"AT": "${NOMAD_ADDR_http}"}})
	b.Ports, b.TaskPorts = ports, map[string][]Port{"t": {{Label: "own", Value: 20003, HostIP: "127.0.0.1"}}}
	b.View = func(e Endpoint) Endpoint { return Endpoint{"172.17.0.1", e.Port + 1000} }
	env := b.Build().Map()
	for name, want := range map[string]string{
		"NOMAD_ADDR_http": "172.17.0.1:21001", "NOMAD_IP_http": "172.17.0.1", "NOMAD_PORT_http": "80",
		"NOMAD_HOST_PORT_http": "21001", "NOMAD_HOST_ADDR_http": "172.17.0.1:21001", "NOMAD_ALLOC_PORT_http": "80",
		"NOMAD_PORT_raw": "20002", "NOMAD_ADDR_raw": "172.17.0.1:21002",
		"NOMAD_PORT_own": "20003", "NOMAD_ADDR_own": "172.17.0.1:21003", "AT": "172.17.0.1:21001",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}

// Variables and values of the node are found without secrets.
func TestLookupOpen(t *testing.T) {
	t.Parallel()
	node := &Node{Name: "here", Attributes: map[string]string{"x": "y"}}
	task := &api.Task{Name: "t", Env: map[string]string{"A": "1"}}
	g := &api.TaskGroup{Tasks: []*api.Task{task}}
	env := NewBuilder(node, AllocInfo{}, &api.Job{}, g, task).Build()
	for name, want := range map[string]string{"A": "1", "attr.x": "y", "node.unique.name": "here", "none": ""} {
		if got, ok := env.LookupOpen(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}
