package httpapi_test

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

// The agent describes itself and its own node pool.
func TestAgent(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(c *httpapi.Config) {
		c.Node = &taskenv.Node{ID: nodeID, Name: "vm", Pool: "gpu", Region: "global", Attributes: map[string]string{"cpu.totalcompute": "5000"}}
	})
	ok := `{"ok":true,"message":"ok"}`
	f.answers(t, map[string]string{
		"GET /v1/agent/health":             `200 {"client":` + ok + `,"server":` + ok + `}`,
		"GET /v1/agent/health?type=client": `200 {"client":` + ok + `}`,
		"GET /v1/agent/health?type=server": `200 {"server":` + ok + `}`,
		"GET /v1/node/pool/gpu":            `200 {"Name":"gpu",…`,
		"GET /v1/status/leader":            `200 "127.0.0.1:0"`,
		"GET /v1/status/peers":             `200 ["127.0.0.1:0"]`,
		"GET /v1/agent/servers":            `200 ["127.0.0.1:0"]`,
	})
	var pools []string
	for _, p := range get[[]*api.NodePool](f, "/v1/node/pools") {
		pools = append(pools, p.Name)
	}
	if got := strings.Join(pools, " "); got != "all default gpu" {
		t.Errorf("pools %s", got)
	}
	members := get[api.ServerMembers](f, "/v1/agent/members")
	if len(members.Members) != 1 || members.ServerName != "vm" || members.Members[0].Status != "alive" || members.Members[0].Tags["build"] != "0.0.0+taskrun.1.2.3" {
		t.Errorf("%+v", members)
	}
	resp := f.do("GET", "/v1/client/stats?node_id="+nodeID, nil)
	if resp.StatusCode == http.StatusNotImplemented {
		t.Skip("the machine cannot be measured")
	}
	var stats api.HostStats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil || len(stats.CPU) == 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	busy := 0.0
	for _, cpu := range stats.CPU {
		busy += 100 - cpu.Idle
	}
	if want := 50 * busy / float64(len(stats.CPU)); math.Abs(stats.CPUTicksConsumed-want) > 0.01 {
		t.Errorf("%v ticks are used, want %v", stats.CPUTicksConsumed, want)
	}
}

// Metrics include the usage of tasks and the number of allocations.
func TestMetricsOfTasks(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(c *httpapi.Config) {
		c.Node.Attributes = map[string]string{"cpu.totalcompute": "5000", "memory.totalbytes": "2147483648"}
	})
	f.driver.uses = &drivers.TaskResourceUsage{Processes: 1}
	f.driver.uses.ResourceUsage = &api.ResourceUsage{
		MemoryStats: &api.MemoryStats{RSS: 1, Cache: 2, Swap: 3, Usage: 4},
		CpuStats:    &api.CpuStats{UserMode: 5, SystemMode: 6, Percent: 7, TotalTicks: 8},
	}
	if err := f.engine.Submit(newJob("job", "batch", newTask("t", "run_for", "1h")), newJob("ended", "batch", newTask("e"))); err != nil {
		t.Fatal(err)
	}
	alloc := f.running("t").ID
	f.untilJobIs("ended", "dead")
	of := map[string]string{"alloc_id": alloc, "job": "job", "task": "t", "task_group": "g", "namespace": "default"}
	group := map[string]string{"job": "ended", "task_group": "g", "namespace": "default"}
	node := map[string]string{"node_id": nodeID, "datacenter": "dc1", "node_class": "none", "node_pool": "default", "host": "vm"}
	wanted := []api.GaugeValue{
		{Name: "nomad.client.allocs.memory.rss", Value: 1, DisplayLabels: of},
		{Name: "nomad.client.allocs.memory.cache", Value: 2, DisplayLabels: of},
		{Name: "nomad.client.allocs.memory.swap", Value: 3, DisplayLabels: of},
		{Name: "nomad.client.allocs.memory.usage", Value: 4, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.user", Value: 5, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.system", Value: 6, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.total_percent", Value: 7, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.total_ticks", Value: 8, DisplayLabels: of},
		{Name: "nomad.client.allocations.terminal", Value: 1, DisplayLabels: node},
		{Name: "nomad.client.allocations.pending", Value: 0, DisplayLabels: node},
		{Name: "nomad.client.allocations.running", Value: 1, DisplayLabels: node},
		{Name: "nomad.client.allocs.cpu.allocated", Value: 100, DisplayLabels: of},
		{Name: "nomad.client.allocs.memory.allocated", Value: 300 << 20, DisplayLabels: of},
		{Name: "nomad.client.allocated.cpu", Value: 100, DisplayLabels: node},
		{Name: "nomad.client.allocated.memory", Value: 300, DisplayLabels: node},
		{Name: "nomad.client.unallocated.cpu", Value: 4900, DisplayLabels: node},
		{Name: "nomad.client.unallocated.memory", Value: 1748, DisplayLabels: node},
		{Name: "nomad.nomad.job_status.pending", Value: 0, DisplayLabels: map[string]string{}},
		{Name: "nomad.nomad.job_status.running", Value: 1, DisplayLabels: map[string]string{}},
		{Name: "nomad.nomad.job_status.dead", Value: 1, DisplayLabels: map[string]string{}},
		{Name: "nomad.nomad.job_summary.complete", Value: 1, DisplayLabels: group},
		{Name: "nomad.nomad.job_summary.failed", Value: 0, DisplayLabels: group},
	}
	summary := get[api.MetricsSummary](f, "/v1/metrics")
	has := map[string]bool{}
	for _, g := range summary.Gauges {
		has[g.Name] = true
		for kind, label := range map[string]string{"nomad.client.host.cpu.": "cpu", "nomad.client.host.disk.": "disk"} {
			if _, ok := g.DisplayLabels[label]; strings.HasPrefix(g.Name, kind) && (!ok || g.DisplayLabels["node_id"] != nodeID) {
				t.Errorf("%s has the labels %v", g.Name, g.DisplayLabels)
			}
		}
		if i := slices.IndexFunc(wanted, func(w api.GaugeValue) bool { return cmp.Equal(w, g) }); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("missing are %+v", wanted)
	}
	if !slices.IsSortedFunc(summary.Gauges, func(a, b api.GaugeValue) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("they are not sorted")
	}
	host := []string{"memory.total", "memory.available", "memory.used", "memory.free", "cpu.user", "cpu.system", "cpu.idle", "disk.size", "disk.used", "disk.available", "disk.used_percent", "disk.inodes_percent"}
	for _, name := range host {
		if !has["nomad.client.host."+name] && has["nomad.client.uptime"] {
			t.Errorf("%s of the machine is missing", name)
		}
	}
	for _, name := range []string{"num_goroutines", "alloc_bytes", "sys_bytes", "heap_objects", "total_gc_runs"} {
		if !has["nomad.runtime."+name] {
			t.Errorf("%s of the process is missing", name)
		}
	}
}
