package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// An engine looks like a cluster of one node.
func TestAClusterOfOne(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	members, err := f.client.Agent().Members()
	if err != nil || len(members.Members) != 1 || members.Members[0].Tags["region"] != "global" {
		t.Fatalf("members %+v, %v", members, err)
	}
	m := members.Members[0]
	if leader, err := f.client.Status().Leader(); err != nil || leader != m.Addr+":"+m.Tags["port"] {
		t.Errorf("leader %q, %v; the member is %+v", leader, err, m)
	}
	if peers, err := f.client.Status().Peers(); err != nil || len(peers) != 1 {
		t.Errorf("peers %q, %v", peers, err)
	}
	if health, err := f.client.Agent().Health(); err != nil || !health.Client.Ok || !health.Server.Ok {
		t.Errorf("health %+v, %v", health, err)
	}
	if _, _, err := f.client.Namespaces().Info("other", nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an unknown namespace: %v", err)
	}
}

func TestDeploymentsAndScaling(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Count = new(2)
	f := serve(t, job)
	f.running("t")
	f.running("t")
	list, _, err := f.client.Deployments().List(nil)
	if err != nil || len(list) != 1 || list[0].JobID != "job" {
		t.Fatalf("deployments %+v, %v", list, err)
	}
	if d, _, err := f.client.Deployments().Info(list[0].ID, nil); err != nil || d.TaskGroups["g"].PlacedAllocs != 2 {
		t.Errorf("deployment %+v, %v", d, err)
	}
	if allocs, _, err := f.client.Deployments().Allocations(list[0].ID, nil); err != nil || len(allocs) != 2 {
		t.Errorf("its allocations %+v, %v", allocs, err)
	}
	status, _, err := f.client.Jobs().ScaleStatus("job", nil)
	if g := status.TaskGroups["g"]; err != nil || g.Desired != 2 || g.Placed != 2 || g.Running != 2 {
		t.Errorf("scale status %+v, %v", status, err)
	}
}

// Errors in a job are part of the response, not errors of the request.
func TestValidateJob(t *testing.T) {
	t.Parallel()
	f := serve(t)
	job := newJob("job", "service", newTask("t"))
	job.Type = new("nonsense")
	answer, _, err := f.client.Jobs().Validate(job, nil)
	if err != nil || len(answer.ValidationErrors) == 0 || !strings.HasPrefix(answer.Error, "1 error:\n\n* ") {
		t.Errorf("%+v, %v", answer, err)
	}
	if answer, _, err := f.client.Jobs().Validate(newJob("job", "batch", newTask("t")), nil); err != nil || answer.Error != "" {
		t.Errorf("%+v, %v", answer, err)
	}
	if _, _, err := f.client.Jobs().Validate(&api.Job{ID: new("x")}, nil); err != nil {
		t.Errorf("an empty job: %v", err)
	}
}
