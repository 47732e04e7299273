package taskenv

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const allocID = "1c4cbdd6-bbf5-ee39-9789-df91c88fefd3"

// testNode is a node without a real machine.
func testNode() *Node {
	return &Node{
		ID: "f7476465-4d6e-c0de-26d0-e383c49be941", Name: "n1", Class: "c1", Pool: "default",
		Datacenter: "dc1", Region: "global",
		Attributes: map[string]string{"kernel.name": "linux", "cpu": "1", "cpu.arch": "amd64"},
		Meta:       map[string]string{"rack": "r7"},
	}
}

// testJob is the canonical job "web" with a group "g" that has the tasks "t"
// and "other".
func testJob() (*api.Job, *api.TaskGroup, *api.Task) {
	task := &api.Task{Name: "t", Env: map[string]string{}, Resources: &api.Resources{CPU: new(250), MemoryMB: new(64)}}
	group := api.NewTaskGroup("g", 1).AddTask(task).AddTask(&api.Task{Name: "other"})
	job := &api.Job{ID: new("web"), Name: new("Web"), Type: new("batch"), TaskGroups: []*api.TaskGroup{group}}
	job.Canonicalize()
	return job, group, task
}

func testBuilder(job *api.Job, group *api.TaskGroup, task *api.Task) *Builder {
	alloc := AllocInfo{ID: allocID, Name: "web.g[2]", Index: 2}
	return NewBuilder(testNode(), alloc, job, group, task).SetClientDir("/data/" + allocID)
}

// envOf builds the environment of a task with an env block.
func envOf(env map[string]string) *Env {
	job, group, task := testJob()
	task.Env = env
	return testBuilder(job, group, task).Build()
}

// expect compares some variables; want "-" means absent.
func expect(t *testing.T, e *Env, want map[string]string) {
	t.Helper()
	for name, value := range want {
		got, ok := e.vars[name]
		if !ok {
			got = "-"
		}
		if got != value {
			t.Errorf("%s = %q, want %q", name, got, value)
		}
	}
}

func TestBuildEverything(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	job.ParentID, job.Namespace, job.Meta = new("parent"), new("ns"), map[string]string{"Team": "core"}
	group.Services = []*api.Service{{Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
		Proxy: &api.ConsulProxy{Upstreams: []*api.ConsulUpstream{{DestinationName: "my-db", LocalBindPort: 5432}}},
	}}}}
	task.Resources = &api.Resources{CPU: new(0), Cores: new(4), MemoryMB: new(64), SecretsMB: new(2), MemoryMaxMB: new(128)}
	node := testNode()
	node.CgroupParent, node.MemoryOversubscription, node.Region = "nomad.slice", true, "eu"
	b := NewBuilder(node, AllocInfo{ID: allocID, Name: "web.g[0]"}, job, group, task).
		SetClientDir("/data/"+allocID).
		SetIdentityToken("", "jwt0").
		SetIdentityToken("My-id", "jwt1").
		SetHookEnv("consul", map[string]string{"CONSUL_TOKEN": "c", "NOMAD_META_h-k": "hook"})
	b.Dirs = Dirs{"/alloc", "/local", "/secrets"}
	b.Cores = Cores{IDs: []int{0, 1, 2, 7}, MHz: 8000}
	b.Ports = []Port{
		{Label: "http", Value: 20001, HostIP: "127.0.0.1"},
		{Label: "web-ui", Value: 20002, To: 80, HostIP: "::1"},
	}
	b.TaskPorts = map[string][]Port{
		"t":     {{Label: "own-4", Value: 20003, HostIP: "10.0.0.1"}, {Label: "own6", Value: 20004, HostIP: "fe80::1"}},
		"other": {{Label: "x-y", Value: 20005, To: 1, HostIP: "10.0.0.1"}},
	}
	b.Network = Network{"eth0", "172.26.64.5"}
	b.VaultToken, b.VaultNamespace = "hvs.1", "team"
	b.HostEnv = []string{"PATH=/bin", "NOMAD_TOKEN=outer"}
	b.TemplateEnv = map[string]string{"FROM_TEMPLATE": "${PATH}"}
	golden(t, "everything.golden", strings.Join(b.Build().List(), "\n")+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAllocationWithoutTask(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	group.Meta = map[string]string{"k": "group"}
	task.Meta = map[string]string{"k": "task"}
	task.Env = map[string]string{"X": "1"}
	b := testBuilder(job, group, nil)
	b.Ports = []Port{{Label: "p", Value: 1, HostIP: "::"}}
	expect(t, b.Build(), map[string]string{
		"NOMAD_ALLOC_DIR": "/data/" + allocID, "NOMAD_TASK_DIR": "-", "NOMAD_SECRETS_DIR": "-",
		"NOMAD_TASK_NAME": "-", "NOMAD_CPU_LIMIT": "-", "NOMAD_MEMORY_LIMIT": "-", "X": "-",
		"NOMAD_GROUP_NAME": "g", "NOMAD_META_k": "group", "NOMAD_PORT_p": "1", "NOMAD_ADDR_p": "[::]:1",
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		resources *api.Resources
		want      map[string]string
	}{
		{
			"none", nil,
			map[string]string{"NOMAD_CPU_LIMIT": "-", "NOMAD_MEMORY_LIMIT": "-", "NOMAD_CPU_CORES": "-"},
		},
		{
			"ordinary", &api.Resources{CPU: new(100), MemoryMB: new(300), MemoryMaxMB: new(0)},
			map[string]string{"NOMAD_CPU_LIMIT": "100", "NOMAD_MEMORY_LIMIT": "300", "NOMAD_MEMORY_MAX_LIMIT": "-", "NOMAD_CPU_CORES": " "},
		},
		{
			"no upper limit", &api.Resources{MemoryMB: new(10), SecretsMB: new(1), MemoryMaxMB: new(-1)},
			map[string]string{"NOMAD_MEMORY_LIMIT": "11", "NOMAD_MEMORY_MAX_LIMIT": "-1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			job, group, task := testJob()
			task.Resources = tc.resources
			b := testBuilder(job, group, task)
			b.node.MemoryOversubscription = true
			expect(t, b.Build(), tc.want)
		})
	}
}

// TestMemoryMaxWithoutOversubscription checks that memory_max has no effect.
func TestMemoryMaxWithoutOversubscription(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	task.Resources = &api.Resources{MemoryMB: new(10), MemoryMaxMB: new(20)}
	expect(t, testBuilder(job, group, task).Build(), map[string]string{"NOMAD_MEMORY_LIMIT": "10", "NOMAD_MEMORY_MAX_LIMIT": "-"})
}

func TestFormatCores(t *testing.T) {
	t.Parallel()
	for want, cores := range map[string][]int{
		" ": nil, "3": {3}, "0-1": {0, 1}, "0-2,7": {0, 1, 2, 7}, "1,3,5-6": {1, 3, 5, 6},
	} {
		if got := formatCores(cores); got != want {
			t.Errorf("formatCores(%v) = %q, want %q", cores, got, want)
		}
	}
}

// TestPrecedence sets one name by all means, removes the winner and checks
// which is next.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	const name = "NOMAD_META_P"
	job, group, task := testJob()
	b := testBuilder(job, group, task)
	task.Meta, task.Env = map[string]string{"P": "meta"}, map[string]string{name: "env"}
	b.HostEnv = []string{name + "=host"}
	b.SetHookEnv("first", map[string]string{name: "first hook"})
	b.SetHookEnv("second", map[string]string{name: "second hook"})
	b.SetHookEnv("first", map[string]string{name: "first hook again"})
	b.TemplateEnv = map[string]string{name: "template"}
	for _, step := range []struct {
		want   string
		remove func()
	}{
		{"template", func() { b.TemplateEnv = nil }},
		{"second hook", func() { b.SetHookEnv("second", nil) }},
		{"first hook again", func() { b.SetHookEnv("first", nil) }},
		{"env", func() { task.Env = nil }},
		{"meta", func() { task.Meta = nil }},
		{"host", func() { b.HostEnv = nil }},
		{"-", func() {}},
	} {
		expect(t, b.Build(), map[string]string{name: step.want})
		step.remove()
	}
	task.Env = map[string]string{"NOMAD_TASK_NAME": "mine", "NOMAD_TASK_DIR": "/x"}
	expect(t, b.Build(), map[string]string{"NOMAD_TASK_NAME": "mine", "NOMAD_TASK_DIR": "/x"})
}

func TestBuildDoesNotChangeInputsOrSnapshots(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	task.Env = map[string]string{"NOMAD_META_a-b": "${NOMAD_TASK_NAME}"}
	b := testBuilder(job, group, task).SetSecrets(map[string]string{"secret.s.k": "1"})
	before := b.Build()
	b.SetSecrets(map[string]string{"secret.s.k": "2"}).SetHookEnv("h", map[string]string{"H": "1"})
	if got := before.Replace("${secret.s.k}${H}"); got != "1${H}" {
		t.Errorf("the earlier snapshot gives %q", got)
	}
	if got := b.Build().Replace("${secret.s.k}${H}"); got != "21" {
		t.Errorf("the later snapshot gives %q", got)
	}
	if !maps.Equal(task.Env, map[string]string{"NOMAD_META_a-b": "${NOMAD_TASK_NAME}"}) {
		t.Errorf("the job was changed: %v", task.Env)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	for _, tc := range []struct {
		name string
		port Port
		want map[string]string
	}{
		{"same port", Port{"p", 25000, 0, "10.1.1.1"}, map[string]string{
			"NOMAD_PORT_p": "25000", "NOMAD_ALLOC_PORT_p": "25000", "NOMAD_HOST_PORT_p": "25000",
			"NOMAD_IP_p": "10.1.1.1", "NOMAD_HOST_IP_p": "10.1.1.1",
			"NOMAD_ADDR_p": "10.1.1.1:25000", "NOMAD_HOST_ADDR_p": "10.1.1.1:25000",
			"NOMAD_ALLOC_IP_p": "-", "NOMAD_ALLOC_ADDR_p": "-",
		}},
		{"mapped, IPv6", Port{"p", 25000, 80, "::1"}, map[string]string{
			"NOMAD_PORT_p": "80", "NOMAD_ALLOC_PORT_p": "80", "NOMAD_HOST_PORT_p": "25000",
			"NOMAD_ADDR_p": "[::1]:25000", "NOMAD_HOST_ADDR_p": "[::1]:25000",
		}},
		{"to = -1", Port{"p", 25000, -1, "::1"}, map[string]string{"NOMAD_PORT_p": "25000"}},
		{"label to be cleaned", Port{"a-b", 1, 0, "::1"}, map[string]string{
			"NOMAD_PORT_a_b": "1", "NOMAD_PORT_a-b": "-", "NOMAD_HOST_IP_a-b": "::1", "NOMAD_HOST_IP_a_b": "-",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := testBuilder(job, group, task)
			b.Ports = []Port{tc.port}
			expect(t, b.Build(), tc.want)
		})
	}
}
