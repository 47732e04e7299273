package template

import (
	"fmt"
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
		envs[run] = taskenv.NewBuilder(&taskenv.Node{}, taskenv.AllocInfo{ID: id, Name: "job.g[0]"}, job, group, task).
			SetClientDir("/none").SetPorts([]taskenv.Port{{Label: "http", Value: run + 1}, {Label: "fixed", Value: 80}}).Build()
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
