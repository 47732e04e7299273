package validate

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestReferencesToPortsAndMeta(t *testing.T) {
	t.Parallel()
	env := func(text string) func(*api.Task) {
		return func(t *api.Task) { t.Env = map[string]string{"A": text} }
	}
	ports := func(g *api.TaskGroup) {
		g.Networks = []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "http"}, {Label: "my-port"}, {Label: "a.b"}}}}
	}
	meta := func(j *api.Job) { j.Meta = map[string]string{"my-key": "v"} }
	const inEnv = "warning job.group[0].task[0].env.A: "
	const legacy = "hint job.group[0].task[0].resources.network[0]: a network in a task is deprecated"
	checkFaults(t, []fault{
		{name: "each family", group: ports, task: env("$NOMAD_PORT_http ${NOMAD_IP_http} NOMAD_ADDR_http NOMAD_HOST_PORT_http NOMAD_HOST_IP_http NOMAD_HOST_ADDR_http NOMAD_ALLOC_PORT_http NOMAD_ALLOC_IP_http NOMAD_ALLOC_ADDR_http NOMAD_ALLOC_INTERFACE_http")},
		{name: "raw and clean label", group: ports, task: env("${NOMAD_PORT_my-port} ${NOMAD_PORT_my_port} ${NOMAD_PORT_a.b}")},
		{name: "text behind", group: ports, task: env("NOMAD_PORT_http. $NOMAD_ADDR_http-x")},
		{name: "put together elsewhere", task: env("NOMAD_PORT_ NOMAD_PORT_${x} NOMAD_ADDR_x_%d NOMAD_META_* NOMAD_PORT_x_${y}")},
		{name: "other variables", task: env("$NOMAD_ALLOC_INDEX $NOMAD_TASK_DIR $NOMAD_UPSTREAM_ADDR_db $NOMAD_PORTS")},
		{name: "ports of proxies", task: env("$NOMAD_PORT_connect_proxy_web $NOMAD_PORT_svc_web_ck_123456")},
		{name: "set by the task", task: func(t *api.Task) { t.Env = map[string]string{"NOMAD_PORT_db": "1", "A": "$NOMAD_PORT_db"} }},
		{name: "unknown", task: env("${NOMAD_PORT_db}"), want: []string{inEnv + "NOMAD_PORT_db is not set"}},
		{name: "unknown once", task: env("${NOMAD_PORT_db} ${NOMAD_PORT_db}"), want: []string{inEnv + "NOMAD_PORT_db is not set"}},
		{name: "no network", group: func(g *api.TaskGroup) { g.Networks = nil }, task: env("$NOMAD_ADDR_http"), want: []string{inEnv + "NOMAD_ADDR_http is not set"}},
		{
			name: "in config and template",
			task: func(t *api.Task) {
				t.Config = map[string]any{"command": "x", "args": []any{"-l", map[string]any{"a": "$NOMAD_IP_x"}}, "mount": []map[string]any{{"source": "NOMAD_PORT_y"}}}
				t.Templates = []*api.Template{{EmbeddedTmpl: new(`{{ env "NOMAD_ADDR_z" }}`), DestPath: new("local/x")}}
			},
			want: []string{
				"warning job.group[0].task[0].config.args: NOMAD_IP_x is not set",
				"warning job.group[0].task[0].config.mount: NOMAD_PORT_y is not set",
				"warning job.group[0].task[0].template[0].data: NOMAD_ADDR_z is not set",
			},
		},
		{
			name: "ports of tasks",
			task: func(t *api.Task) {
				t.Resources = &api.Resources{Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "db"}}}}}
				t.Env = map[string]string{"A": "$NOMAD_PORT_db $NOMAD_ADDR_t_db"}
			},
			want: []string{legacy},
		},
		{name: "meta", job: meta, task: env("$NOMAD_META_my_key ${NOMAD_META_my-key} $NOMAD_META_MY_KEY")},
		{name: "unknown meta", job: meta, task: env("$NOMAD_META_mykey"), want: []string{inEnv + "NOMAD_META_mykey is not set"}},
		{
			name: "meta of dispatch",
			job: func(j *api.Job) {
				j.Type, j.ParameterizedJob = new("batch"), &api.ParameterizedJobConfig{MetaRequired: []string{"a"}, MetaOptional: []string{"b"}}
			},
			task: env("$NOMAD_META_a $NOMAD_META_b"),
		},
		{name: "meta whose key is known later", job: func(j *api.Job) { j.Meta = map[string]string{"${attr.x}": "v"} }, task: env("$NOMAD_META_what")},
	})
}

func TestReplaceReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"${A}":                 "_",
		"x-${a.b-c_1}-${D}":    "x-_-_",
		"${}":                  "${}",
		"${ A }":               "${ A }",
		"${A":                  "${A",
		"$${A}":                "$_",
		"${${A}}":              "${_}",
		`${env["A"]} and ${B}`: `${env["A"]} and _`,
	} {
		if got := replaceReferences(text, "_"); got != want {
			t.Errorf("replaceReferences(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLeavesAllocationAndTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		allocation bool
		task       bool
	}{
		{"local/x", false, false},
		{"", false, false},
		{"/etc/x", false, false},
		{"..", false, true},
		{"../alloc/x", false, false},
		{"../web/local/x", false, false},
		{"../other/x", false, true},
		{"a/../../alloc/y", false, false},
		{"../..", true, true},
		{"../../x", true, true},
		{"..x/y", false, false},
		{"${NOMAD_TASK_DIR}/../../x", false, false}, // known at run time only
	} {
		if got := leavesAllocation("web", c.name); got != c.allocation {
			t.Errorf("leavesAllocation(%q) = %t", c.name, got)
		}
		if got := leavesTask("web", c.name); got != c.task {
			t.Errorf("leavesTask(%q) = %t", c.name, got)
		}
	}
}
