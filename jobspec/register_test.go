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
			got = append(got, c.Name)
		}
	}
	want := []string{
		"job-grp-group-${attr.x}", "", `service: "job-grp-group-${attr.x}" check`, "mine",
		"job-grp", "t",
		"job.grp.t", "t",
		"job-grp-t", "t", `service: "job-grp-t" check`,
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

func TestRegisterRunsAnywhere(t *testing.T) {
	t.Parallel()
	job := &api.Job{}
	job.Canonicalize()
	jobspec.Register(job)
	if diff := cmp.Diff([]string{"*"}, job.Datacenters); diff != "" {
		t.Errorf("datacenters (-want +got):\n%s", diff)
	}
}
