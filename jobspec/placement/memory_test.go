package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

func TestIgnoredMemoryMax(t *testing.T) {
	t.Parallel()
	task := func(name string, most *int) *api.Task {
		return &api.Task{Name: name, Resources: &api.Resources{MemoryMB: new(10), MemoryMaxMB: most}}
	}
	job := &api.Job{TaskGroups: []*api.TaskGroup{{
		Name:  new("g"),
		Tasks: []*api.Task{{Name: "bare"}, task("none", nil), task("zero", new(0)), task("most", new(20)), task("all", new(-1))},
	}}}
	var got []string
	for _, p := range IgnoredMemoryMax(job, &taskenv.Node{}) {
		if p.Severity != jobspec.Warning {
			t.Errorf("it is no warning: %v", p)
		}
		got = append(got, string(p.Path)+": "+p.Summary)
	}
	want := []string{
		`job.group[0].task[3].resources.memory_max: Memory oversubscription is not enabled; Task "g.most" memory_max value will be ignored`,
		`job.group[0].task[4].resources.memory_max: Memory oversubscription is not enabled; Task "g.all" memory_max value will be ignored`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := IgnoredMemoryMax(job, &taskenv.Node{MemoryOversubscription: true}); len(p) > 0 {
		t.Errorf("with oversubscription: %v", p)
	}
}
