package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

// An order with an invalid body or query is refused, and has no effect.
func TestUnreadableOrders(t *testing.T) {
	t.Parallel()
	f := serve(t, deployable(1, "a", func(u *api.UpdateStrategy) { u.MinHealthyTime = new(time.Hour) }))
	f.running("t")
	d, _, err := f.client.Jobs().LatestDeployment("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &api.Variable{Namespace: "default", Path: "a", Items: api.VariableItems{"k": "v"}}
	if _, _, err := f.client.Variables().Create(v, nil); err != nil {
		t.Fatal(err)
	}
	for _, order := range []struct{ method, path, body string }{
		{"DELETE", "/v1/var/a?cas=x", ""},
		{"DELETE", "/v1/var/a?cas=-1", ""},
		{"PUT", "/v1/var/a?cas=x", `{"Items":{"k":"other"}}`},
		{"PUT", "/v1/var/a", `{"Items":`},
		{"PUT", "/v1/deployment/pause/" + d.ID, `{"Pause":`},
		{"PUT", "/v1/deployment/pause/" + d.ID, `{"Pause":"yes"}`},
		{"PUT", "/v1/deployment/promote/" + d.ID, `{"All":`},
		{"PUT", "/v1/deployment/allocation-health/" + d.ID, `{"UnhealthyAllocationIDs":`},
		{"PUT", "/v1/job/job/scale", `{"Count":`},
		{"PUT", "/v1/job/job/evaluate", `{"JobID":`},
		{"PUT", "/v1/job/job/revert", `{"JobVersion":`},
		{"PUT", "/v1/job/job/stable", `{"JobVersion":`},
		{"PUT", "/v1/jobs", `{"Job":`},
		{"PUT", "/v1/jobs/parse", `{"JobHCL":`},
		{"PUT", "/v1/job/job/plan", `{"Job":`},
		{"PUT", "/v1/search", `{"Prefix":`},
	} {
		a := f.do(order.method, order.path, strings.NewReader(order.body))
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %s %s: %d %s", order.method, order.path, order.body, a.StatusCode, readAll(t, a.Body))
		}
	}
	if got, _, err := f.client.Variables().Read("a", nil); err != nil || got.Items["k"] != "v" {
		t.Errorf("the variable is %+v, %v", got, err)
	}
	if now, _, err := f.client.Deployments().Info(d.ID, nil); err != nil || now.Status != "running" {
		t.Errorf("the deployment is %+v, %v", now, err)
	}
	if job, _, err := f.client.Jobs().Info("job", nil); err != nil || *job.Version != 0 || *job.TaskGroups[0].Count != 1 {
		t.Errorf("the job is %+v, %v", job, err)
	}
}

// The node shows the measurements of the machine, in the unit of each field,
// and its first event.
func TestNodeShowsTheMachine(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(c *httpapi.Config) {
		c.Node = &taskenv.Node{ID: nodeID, Name: "vm", Attributes: map[string]string{
			"cpu.totalcompute": "4200", "cpu.numcores": "3", "memory.totalbytes": "2147483648", "unique.storage.bytestotal": "5368709120",
		}}
	})
	before := time.Now().Add(-time.Minute)
	n, _, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{
		int64(*n.Resources.CPU), int64(*n.Resources.MemoryMB), int64(*n.Resources.DiskMB), int64(*n.Resources.IOPS),
		n.NodeResources.Cpu.CpuShares, int64(n.NodeResources.Cpu.TotalCpuCores), n.NodeResources.Memory.MemoryMB, n.NodeResources.Disk.DiskMB,
		int64(*n.Reserved.CPU), int64(*n.Reserved.MemoryMB), int64(*n.Reserved.DiskMB), int64(*n.Reserved.IOPS),
	}
	if diff := cmp.Diff([]int64{4200, 2048, 5120, 0, 4200, 3, 2048, 5120, 0, 0, 0, 0}, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if len(n.Events) != 1 {
		t.Fatalf("%d events, want 1", len(n.Events))
	}
	e := n.Events[0]
	if e.Message != "Node registered" || e.Subsystem != "Cluster" || e.Timestamp.Before(before) || e.CreateIndex == 0 || e.Details == nil {
		t.Errorf("its event is %+v", e)
	}
	if n.Status != "ready" || n.SchedulingEligibility != "eligible" || n.CreateIndex == 0 || n.ModifyIndex == 0 || n.StatusUpdatedAt < before.Unix() {
		t.Errorf("the node is %+v", n)
	}
	stubs, _, err := f.client.Nodes().List(nil)
	if err != nil || len(stubs) != 1 || stubs[0].ID != nodeID || stubs[0].Status != "ready" {
		t.Errorf("listed as %+v, %v", stubs, err)
	}
}
