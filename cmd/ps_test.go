package cmd

import (
	"fmt"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
)

// TestCurrent checks that ps shows ended tasks of a cluster only while their
// job exists, and that jobs of two namespaces may have the same ID.
func TestCurrent(t *testing.T) {
	t.Parallel()
	run := &client.Server{Socket: "web-1.sock"}
	cluster, err := client.Remote(client.Cluster{Address: "http://127.0.0.1:4646", Namespace: api.AllNamespacesNamespace})
	if err != nil {
		t.Fatal(err)
	}
	task := func(namespace, job, status string) *client.Task {
		return &client.Task{Server: cluster, Alloc: &api.AllocationListStub{Namespace: namespace, JobID: job, ClientStatus: status}, State: &api.TaskState{}}
	}
	job := func(namespace, id, status string) client.Job {
		return client.Job{JobListStub: &api.JobListStub{Namespace: namespace, ID: id, Status: status}, Server: cluster}
	}
	tasks, jobs := current([]*client.Task{
		task("a", "web", api.AllocClientStatusComplete),
		task("b", "web", api.AllocClientStatusComplete),
		task("b", "web", api.AllocClientStatusRunning),
		task("b", "old", api.AllocClientStatusFailed),
		task("", "here", api.AllocClientStatusFailed),
		{Server: run, Alloc: &api.AllocationListStub{JobID: "up", ClientStatus: api.AllocClientStatusComplete}},
	}, []client.Job{job("a", "web", "running"), job("b", "web", "dead"), job("b", "old", "dead"), job("", "here", "pending")})
	var got []string
	for _, task := range tasks {
		got = append(got, task.Alloc.Namespace+"/"+task.Alloc.JobID+" "+task.Alloc.ClientStatus)
	}
	if want := "[a/web complete b/web running /here failed /up complete]"; fmt.Sprint(got) != want || len(jobs) != 2 {
		t.Errorf("got %v of %d jobs, want %s", got, len(jobs), want)
	}
}
