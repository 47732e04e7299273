package template

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// A name that depends on the run is distinguished from one that a stub can
// define, whatever the template does with it.
func TestPreviewOfNamesThatVary(t *testing.T) {
	t.Parallel()
	task := api.NewTask("t", "mock_driver")
	task.Env = map[string]string{"OWN": "x-${NOMAD_SHORT_ALLOC_ID}"}
	group := api.NewTaskGroup("g", 1)
	group.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{group}}
	var envs [2]*taskenv.Env
	for run, id := range [...]string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		b := taskenv.NewBuilder(&taskenv.Node{}, taskenv.AllocInfo{ID: id, Name: "job.g[0]"}, job, group, task).SetClientDir("/none")
		b.Ports = []taskenv.Port{{Label: "http", Value: run + 1}, {Label: "fixed", Value: 80}}
		envs[run] = b.Build()
	}
	s := &stubs{t: t, changed: make(chan struct{})}
	s.define(defined)
	for _, c := range []struct{ template, want string }{
		{`{{ key "app/port" }}`, ""},
		{`{{ key "app/none" }}`, "app/none false"},
		{`{{ key (printf "app/%s" (env "NOMAD_ALLOC_ID")) }}`, "app/00000000-0000-0000-0000-000000000000 true"},
		{`{{ key (env "NOMAD_ALLOC_ID" | sha256Hex | printf "%.8s") }}`, "12b9377c true"},
		{`{{ nomadVar (env "OWN") }}`, "x-00000000 true"},
		{`{{ secret (printf "kv/%s" (env "NOMAD_PORT_http")) }}`, "kv/1 true"},
		{`{{ key (printf "app/%s" (env "NOMAD_PORT_fixed")) }}`, "app/80 false"},
		{`{{ key (printf "app/%s" (env "NOMAD_ALLOC_NAME")) }}`, "app/job.g[0] false"},
		{`{{ keyOrDefault (printf "app/%s" (env "NOMAD_ALLOC_ID")) "x" }}`, ""},
	} {
		task.Templates = []*api.Template{file(c.template)}
		job.Canonicalize()
		got := ""
		for _, lack := range Preview(hooks.Task{Job: job, Group: group, Task: task, AllocDir: "/none"}, envs, Config{Stubs: s}) {
			got += fmt.Sprint(lack.Need.Label, " ", lack.Varies)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.template, diff)
		}
	}
}

// Requests has everything that templates ask stubs for, whether a stub answers
// or not, and which template asks.
func TestRequests(t *testing.T) {
	t.Parallel()
	task := api.NewTask("t", "mock_driver")
	group := api.NewTaskGroup("g", 1)
	group.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{group}}
	for _, text := range []string{
		"no request",
		`{{ key "app/port" }}{{ range ls "app" }}{{ end }}{{ nomadVarExists "nomad/none" }}`,
		`{{ range service "db" }}{{ end }}{{ range nomadService "api" }}{{ end }}{{ secret "kv/x" }}{{ env "HOME" }}`,
		`{{ fail`,
	} {
		task.Templates = append(task.Templates, file(text))
	}
	job.Canonicalize()
	env := taskenv.NewBuilder(&taskenv.Node{}, taskenv.AllocInfo{Name: "job.g[0]"}, job, group, task).SetClientDir("/none").Build()
	s := &stubs{t: t, changed: make(chan struct{})}
	s.define(defined)
	var got []string
	for _, r := range Requests(hooks.Task{Job: job, Group: group, Task: task, AllocDir: "/none"}, env, Config{Stubs: s}) {
		got = append(got, fmt.Sprint(r.Template, " ", r.Kind, " ", r.Label, " ", r.List))
	}
	slices.Sort(got)
	want := []string{
		"1 consul_key app true", "1 consul_key app/port false", "1 nomad_variable nomad/none false",
		"2 service api false", "2 service db false", "2 vault_secret kv/x false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// aTask is a task with templates, and its environment.
func aTask(templates ...*api.Template) (hooks.Task, *taskenv.Env) {
	task := api.NewTask("t", "mock_driver")
	task.Templates = templates
	group := api.NewTaskGroup("g", 1)
	group.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{group}}
	job.Canonicalize()
	env := taskenv.NewBuilder(&taskenv.Node{}, taskenv.AllocInfo{Name: "job.g[0]"}, job, group, task).SetClientDir("/none").Build()
	return hooks.Task{Job: job, Group: group, Task: task, AllocDir: "/none"}, env
}

// Parse errors of templates, and of variables without a template, are found with
// their line before the task starts. Templates whose text is in a file are left
// out.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	variables := func(t *api.Template) { t.Envvars = new(true) }
	task, env := aTask(
		file("{{ key `a` }}\n{{ if }}"),
		file("A=1\nB", variables),
		file("A=1\nB"), // no variables
		file("{{ key `a` }}"),
		&api.Template{SourcePath: new("local/in"), DestPath: new("local/out")},
		file("{{ if }}", to("../../../../out")), // reported when the task starts
		file("A=1", variables),
		file("[[ if ]]", func(t *api.Template) { t.LeftDelim, t.RightDelim = new("[["), new("]]") }),
		file("{{ nope }}"),
		file("{{ `a` | toUper }}"),
		file("{{ `a` | default `b` }}"),
	)
	want := []ParseError{
		{0, 2, "missing value for if", ""},
		{1, 2, "missing =", ""},
		{7, 1, "missing value for if", ""},
		{8, 1, `function "nope" not defined`, "node"},
		{9, 1, `function "toUper" not defined`, "toUpper"},
		{10, 1, `function "default" not defined`, "sprig_default"},
	}
	if diff := cmp.Diff(want, ParseErrors(task, env)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Functions that a hint can name exist.
func TestFunctionNames(t *testing.T) {
	t.Parallel()
	var calls []*api.Template
	for _, name := range functionNames() {
		calls = append(calls, file("{{ "+name+" }}"))
	}
	task, env := aTask(calls...)
	for _, fault := range ParseErrors(task, env) {
		t.Errorf("%s: %s", functionNames()[fault.Template], fault.Text)
	}
	if n := len(functionNames()); n < 250 {
		t.Errorf("there are only %d", n)
	}
}

// Missing values are sorted by template and name. A service without an instance is
// an empty list, for which no template waits.
func TestPreviewOfServices(t *testing.T) {
	t.Parallel()
	task, env := aTask(
		&api.Template{SourcePath: new("local/in"), DestPath: new("local/out")},
		file(`{{ key "b" }}{{ key "a" }}{{ range service "none" }}{{ end }}{{ range service "primary.db|any" }}{{ end }}`),
		file(`{{ key "x" }}`, to("../../../../out")), // reported when the task starts
		file(`{{ range nomadService "db" }}{{ end }}{{ range nomadService 1 "key" "api" }}{{ end }}{{ range service "web~_agent" "passing,warning" }}{{ end }}{{ range nomadService "web" }}{{ end }}`),
	)
	s := &stubs{t: t, changed: make(chan struct{})}
	s.define(defined)
	var got []string
	for _, l := range Preview(task, [2]*taskenv.Env{env, env}, Config{Stubs: s}) {
		got = append(got, fmt.Sprint(l.Template, " ", l.Need.Kind, " ", l.Need.Label, " ", l.Empty, " ", l.Varies))
	}
	want := []string{
		"1 service none true false", "1 consul_key a false false", "1 consul_key b false false", "3 service web true false", "3 service api true false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
