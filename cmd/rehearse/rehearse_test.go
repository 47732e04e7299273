package rehearse

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/drivers"
	"taskrun/drivers/rehearsal"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// Drivers of Nomad that taskrun lacks get mocks; a misspelled one does not, so that it
// is reported.
func TestAdmit(t *testing.T) {
	t.Parallel()
	real := rehearsal.New(rehearsal.Role{Name: "raw_exec"}, nil)
	mocks := map[string]drivers.Driver{"raw_exec": real}
	job := &api.Job{TaskGroups: []*api.TaskGroup{{}}}
	for _, driver := range []string{"raw_exec", "qemu", "exec2", "firecracker-task-driver", "raw_exce", ""} {
		task := &api.Task{Driver: driver, Config: map[string]any{"anything": 1}}
		job.TaskGroups[0].Tasks = append(job.TaskGroups[0].Tasks, task)
	}
	Admit(mocks, job, nil)
	want := []string{"exec2", "firecracker-task-driver", "qemu", "raw_exec"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(mocks))); diff != "" {
		t.Error(diff)
	}
	if mocks["raw_exec"] != real {
		t.Error("the mock of a known driver was replaced")
	}
	for name, want := range map[string]drivers.FSIsolation{"exec2": drivers.FSIsolationUnveil, "qemu": drivers.FSIsolationImage} {
		if got := rehearsal.RoleOf(mocks[name]).FS; got != want {
			t.Errorf("%s isolates %v, want %v", name, got, want)
		}
	}
}

// The services of a task after the others are not waited for: they come too late.
func TestExpectedServices(t *testing.T) {
	t.Parallel()
	task := func(name, hook string) *api.Task {
		task := &api.Task{Name: name, Driver: "raw_exec", Services: []*api.Service{{Name: name}}}
		if hook != "" {
			task.Lifecycle = &api.TaskLifecycle{Hook: hook}
		}
		return task
	}
	job := &api.Job{ID: new("j"), Name: new("j"), Type: new("service"), TaskGroups: []*api.TaskGroup{{
		Name: new("g"), Services: []*api.Service{{Name: "s"}},
		Tasks: []*api.Task{task("main", ""), task("before", api.TaskLifecycleHookPrestart), task("after", api.TaskLifecycleHookPoststop)},
	}}}
	job.Canonicalize()
	r := New(nil)
	r.Cast([]jobfile.File{{File: &jobspec.File{Job: job}, Stubs: &stub.Set{}}})
	if got := r.expect["j/g"]; got != 3 {
		t.Errorf("%d services are expected", got)
	}
}
