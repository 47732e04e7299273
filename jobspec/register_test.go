package jobspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	check := api.ServiceCheck{Type: "tcp"}
	named := api.ServiceCheck{Type: "tcp", Name: "mine"}
	job := &api.Job{
		ID: new("job"), Priority: new(0), Datacenters: []string{"dc7"}, ParameterizedJob: &api.ParameterizedJobConfig{},
		TaskGroups: []*api.TaskGroup{{
			Name:     new("grp"),
			Services: []*api.Service{{Name: "${BASE}-${attr.x}", Checks: []api.ServiceCheck{check, named}}, {TaskName: "t"}},
			Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{}}, ReservedPorts: []api.Port{{HostNetwork: "public"}}}},
			Tasks:    []*api.Task{{Name: "t", Services: []*api.Service{{Name: "${JOB}.${TASKGROUP}.${TASK}"}, {Checks: []api.ServiceCheck{check}}}}},
		}},
	}
	job.Canonicalize()
	jobspec.Register(job)
	var got []string
	group := job.TaskGroups[0]
	for _, s := range append(group.Services, group.Tasks[0].Services...) {
		got = append(got, s.Name, s.TaskName)
		for _, c := range s.Checks {
			got = append(got, c.Name, c.TaskName)
		}
	}
	want := []string{
		"job-grp-group-${attr.x}", "", `service: "job-grp-group-${attr.x}" check`, "", "mine", "",
		"job-grp", "t",
		"job.grp.t", "t",
		"job-grp-t", "t", `service: "job-grp-t" check`, "t",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	r, n := group.Tasks[0].Resources, group.Networks[0]
	if *r.DiskMB+*r.IOPS+*r.MemoryMaxMB+*r.SecretsMB != 0 || *group.PreventRescheduleOnLost || *job.DispatchIdempotencyToken != "" ||
		n.DynamicPorts[0].HostNetwork != "default" || n.ReservedPorts[0].HostNetwork != "public" {
		t.Errorf("defaults %+v, %+v", r, n)
	}
	if diff := cmp.Diff([]string{"dc7"}, job.Datacenters); diff != "" || *job.NodePool != "default" || *job.Priority != 50 || job.ParameterizedJob.Payload != "optional" {
		t.Errorf("datacenters %v, node pool %q, priority %d, payload %q", job.Datacenters, *job.NodePool, *job.Priority, job.ParameterizedJob.Payload)
	}
}

// A task has the default identity, under its name and for the audience of Nomad's API.
func TestRegisterIdentity(t *testing.T) {
	t.Parallel()
	id := func(name string, env bool, aud ...string) *api.WorkloadIdentity {
		return &api.WorkloadIdentity{Name: name, Audience: aud, Env: env}
	}
	for name, tt := range map[string]struct {
		identity  *api.WorkloadIdentity
		others    []*api.WorkloadIdentity
		want      *api.WorkloadIdentity
		otherLeft int
	}{
		"none":         {want: id("default", false, "nomadproject.io")},
		"another":      {others: []*api.WorkloadIdentity{id("aws", true)}, want: id("default", false, "nomadproject.io"), otherLeft: 1},
		"without name": {identity: id("", true, "x", "y"), want: id("default", true, "nomadproject.io")},
		"in the list":  {others: []*api.WorkloadIdentity{id("default", true, "x")}, otherLeft: 1},
	} {
		task := &api.Task{Name: "t", Identity: tt.identity, Identities: tt.others}
		job := &api.Job{ID: new("j"), Name: new("j"), TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: []*api.Task{task}}}}
		jobspec.Register(job)
		if diff := cmp.Diff(tt.want, task.Identity); diff != "" || len(task.Identities) != tt.otherLeft {
			t.Errorf("%s: %d others (-want +got):\n%s", name, len(task.Identities), diff)
		}
	}
}

func TestRegisterRunsAnywhere(t *testing.T) {
	t.Parallel()
	job := &api.Job{}
	job.Canonicalize()
	jobspec.Register(job)
	if diff := cmp.Diff([]string{"*"}, job.Datacenters); diff != "" {
		t.Errorf("datacenters (-want +got):\n%s", diff)
	}
}
