package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/drivers"
	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

// sorted checks that a list is sorted by a key, and reverses on demand.
func (f *fixture) sorted(path string, key func(map[string]any) string) {
	f.Helper()
	for _, reverse := range []bool{false, true} {
		var keys []string
		for _, v := range get[[]map[string]any](f, fmt.Sprint(path, "reverse=", reverse)) {
			keys = append(keys, key(v))
		}
		want := slices.Sorted(slices.Values(keys))
		if reverse {
			slices.Reverse(want)
		}
		if len(keys) < 2 || !slices.Equal(keys, want) {
			f.Errorf("%sreverse=%v: %q", path, reverse, keys)
		}
	}
}

// Lists are sorted by ID when a prefix is given, and by age otherwise, and in
// the other order with reverse.
func TestOrderOfLists(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	follow(f, "/v1/evaluations", func(list []any) bool { return len(list) == 2 })
	id := func(v map[string]any) string { return v["ID"].(string) }
	age := func(v map[string]any) string { return fmt.Sprintf("%09.0f", v["CreateIndex"]) }
	for _, path := range []string{"/v1/allocations", "/v1/evaluations"} {
		f.sorted(path+"?", age)
		first := get[[]map[string]any](f, path)[0]["ID"].(string)
		var all []string
		for _, v := range get[[]map[string]any](f, path+"?prefix="+strings.ToUpper(first[:1])) {
			all = append(all, id(v))
		}
		if !slices.Contains(all, first) || !slices.IsSorted(all) {
			t.Errorf("%s by prefix: %q", path, all)
		}
	}
	f.sorted("/v1/jobs?", id)
	f.sorted("/v1/node/pools?", func(v map[string]any) string { return v["Name"].(string) })
	for query, want := range map[string]int{"job=a": 1, "job=none": 0, "status=complete": 2, "status=pending": 0, "job=a&status=complete": 1} {
		if list := get[[]any](f, "/v1/evaluations?"+query); len(list) != want {
			t.Errorf("evaluations with %s: %d, want %d", query, len(list), want)
		}
	}
	for query, want := range map[string]string{"": "", "meta=false": "", "meta=true": "red"} {
		if list := get[[]*api.JobListStub](f, "/v1/jobs?"+query); list[0].Meta["team"] != want || list[1].Meta != nil {
			t.Errorf("jobs with %q: %+v", query, list[0].Meta)
		}
	}
	if list := get[[]*api.NodeListStub](f, "/v1/nodes?resources=true"); list[0].NodeResources == nil || list[0].ReservedResources == nil {
		t.Errorf("nodes with resources: %+v", list[0])
	}
	for _, path := range []string{"/v1/nodes?prefix=f", "/v1/node/pools?prefix=x", "/v1/deployments?prefix=x"} {
		if list := get[[]any](f, path); list == nil || len(list) != 0 {
			t.Errorf("%s: %v", path, list)
		}
	}
	allocs := get[[]*api.Allocation](f, "/v1/node/"+nodeID+"/allocations")
	if len(allocs) != 2 || allocs[0].Job == nil || *allocs[0].Job.ID != allocs[0].JobID {
		t.Errorf("of the node: %+v", allocs)
	}
	pretty := readAll(t, f.do("GET", "/v1/regions?pretty", nil).Body)
	if plain := readAll(t, f.do("GET", "/v1/regions?pretty=0", nil).Body); pretty != "[\n    \"global\"\n]" || plain != `["global"]` {
		t.Errorf("pretty %q, not pretty %q", pretty, plain)
	}
}

// The agent tells of itself, and of a pool of its own.
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
		"GET /v1/node/pool/gpu":            `200 {"NodeIdentityTTL":"","Name":"gpu",…`,
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
	if len(members.Members) != 1 || members.ServerName != "vm" || members.Members[0].Status != "alive" || members.Members[0].Tags["build"] != "taskrun 1.2.3" {
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

// Metrics are what tasks use, and how many allocations there are.
func TestMetricsOfTasks(t *testing.T) {
	t.Parallel()
	f := serve(t)
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
	node := map[string]string{"node_id": nodeID, "datacenter": "dc1"}
	wanted := []api.GaugeValue{
		{Name: "nomad.client.allocs.memory.rss", Value: 1, DisplayLabels: of}, {Name: "nomad.client.allocs.memory.cache", Value: 2, DisplayLabels: of},
		{Name: "nomad.client.allocs.memory.swap", Value: 3, DisplayLabels: of}, {Name: "nomad.client.allocs.memory.usage", Value: 4, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.user", Value: 5, DisplayLabels: of}, {Name: "nomad.client.allocs.cpu.system", Value: 6, DisplayLabels: of},
		{Name: "nomad.client.allocs.cpu.total_percent", Value: 7, DisplayLabels: of}, {Name: "nomad.client.allocs.cpu.total_ticks", Value: 8, DisplayLabels: of},
		{Name: "nomad.client.allocations.terminal", Value: 1, DisplayLabels: node}, {Name: "nomad.client.allocations.pending", Value: 0, DisplayLabels: node},
		{Name: "nomad.nomad.job_summary.complete", Value: 1, DisplayLabels: group}, {Name: "nomad.nomad.job_summary.failed", Value: 0, DisplayLabels: group},
	}
	summary := get[api.MetricsSummary](f, "/v1/metrics")
	has := map[string]bool{}
	for _, g := range summary.Gauges {
		has[g.Name] = true
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

// A fuzzy search finds the parts of jobs, at most twenty of a kind.
func TestFuzzySearch(t *testing.T) {
	t.Parallel()
	task := newTask("server", "run_for", "1h")
	task.Config["command"], task.Config["image"] = "/bin/found", "found:1"
	task.Services = []*api.Service{{Name: "found-of-task", Provider: "nomad"}}
	job := newJob("web", "service", task)
	job.TaskGroups[0].Scaling = &api.ScalingPolicy{Min: new(int64(0)), Max: new(int64(3)), Type: "horizontal"}
	job.Canonicalize()
	other := newJob("other", "service", newTask("found", "run_for", "1h"))
	other.Namespace = new("prod")
	f := serveWith(t, func(c *httpapi.Config) { c.Node.Name = "found-node" }, job, other)
	f.running("found")
	for i := range 22 {
		if _, _, err := f.client.Variables().Update(&api.Variable{Path: fmt.Sprintf("found/%02d", i), Items: api.VariableItems{}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	search := func(text string, kind contexts.Context, namespace string) *api.FuzzySearchResponse {
		answer, meta, err := f.client.Search().FuzzySearch(text, kind, &api.QueryOptions{Namespace: namespace})
		if err != nil || meta.LastIndex == 0 {
			t.Fatal(err, meta)
		}
		return answer
	}
	found := search("FOUND", contexts.All, "")
	for kind, want := range map[contexts.Context][]api.FuzzyMatch{
		contexts.Commands: {{ID: "/bin/found", Scope: []string{"default", "web", "g", "server"}}},
		contexts.Images:   {{ID: "found:1", Scope: []string{"default", "web", "g", "server"}}},
		contexts.Services: {{ID: "found-of-task", Scope: []string{"default", "web", "g", "server"}}},
		contexts.Tasks:    {{ID: "found", Scope: []string{"prod", "other", "g"}}},
		contexts.Nodes:    {{ID: "found-node", Scope: []string{nodeID}}},
	} {
		if diff := cmp.Diff(want, found.Matches[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if n := len(found.Matches[contexts.Variables]); n != 20 || !found.Truncations[contexts.Variables] || found.Truncations[contexts.Tasks] {
		t.Errorf("%d variables, truncated %v", n, found.Truncations)
	}
	if found := search("found", contexts.Tasks, "default"); len(found.Matches) != 0 {
		t.Errorf("in another namespace: %v", found.Matches)
	}
	policy := get[[]*api.ScalingPolicyListStub](f, "/v1/scaling/policies")[0].ID
	if found := search(policy[:5], contexts.All, ""); len(found.Matches[contexts.ScalingPolicies]) != 1 {
		t.Errorf("by the ID of a policy: %v", found.Matches)
	}
	if found := search(policy[1:6], contexts.ScalingPolicies, ""); len(found.Matches) != 0 {
		t.Errorf("by a part of the ID: %v", found.Matches)
	}
	alloc := f.engine.Allocs()[0]
	if found := search(alloc.Name, contexts.Allocs, "*"); !cmp.Equal(found.Matches[contexts.Allocs], []api.FuzzyMatch{{ID: alloc.Name, Scope: []string{*alloc.Job.Namespace, alloc.ID}}}) {
		t.Errorf("by its name: %v", found.Matches)
	}
	for prefix, want := range map[string]int{"found/": 20, "found/0": 10} {
		answer, _, err := f.client.Search().PrefixSearch(prefix, contexts.Variables, nil)
		if err != nil || len(answer.Matches[contexts.Variables]) != want || answer.Truncations[contexts.Variables] != (want == 20) {
			t.Errorf("prefix %s: %+v, %v", prefix, answer, err)
		}
	}
	answer, _, err := f.client.Search().PrefixSearch(policy, contexts.ScalingPolicies, nil)
	if err != nil || !cmp.Equal(answer.Matches[contexts.ScalingPolicies], []string{policy}) {
		t.Errorf("%+v, %v", answer, err)
	}
}

// Policies are those of groups and tasks, found by job, type and ID.
func TestScalingPolicies(t *testing.T) {
	t.Parallel()
	policy := func(kind string) *api.ScalingPolicy {
		return &api.ScalingPolicy{Min: new(int64(1)), Max: new(int64(9)), Type: kind}
	}
	job := func(id, namespace string) *api.Job {
		task := newTask("t", "run_for", "1h")
		task.ScalingPolicies = []*api.ScalingPolicy{policy("vertical_cpu"), policy("vertical_mem")}
		job := newJob(id, "service", task)
		job.Namespace, job.TaskGroups[0].Scaling = &namespace, policy("horizontal")
		job.TaskGroups[0].Scaling.Enabled = new(false)
		job.Canonicalize()
		return job
	}
	f := serve(t, job("a", "default"), job("b", "prod"))
	all := get[[]*api.ScalingPolicyListStub](f, "/v1/scaling/policies")
	f.sorted("/v1/scaling/policies?", func(p map[string]any) string { return p["ID"].(string) })
	for query, want := range map[string]int{
		"": 6, "job=a": 3, "job=a&type=vertical": 2, "type=horizontal": 2, "type=vertical_mem": 2, "namespace=prod": 3, "namespace=none": 0,
		"prefix=" + all[0].ID: 1, "prefix=x": 0, "job=none": 0,
	} {
		if list := get[[]any](f, "/v1/scaling/policies?"+query); len(list) != want {
			t.Errorf("%q: %d policies, want %d", query, len(list), want)
		}
	}
	for _, stub := range all {
		p := get[*api.ScalingPolicy](f, "/v1/scaling/policy/"+stub.ID)
		if *p.Enabled == (p.Type == "horizontal") || stub.Enabled != *p.Enabled || p.Target["Group"] != "g" || (p.Target["Task"] == "t") == (p.Type == "horizontal") ||
			p.Namespace != p.Target["Namespace"] || p.CreateIndex == 0 || p.ModifyIndex == 0 {
			t.Errorf("%+v", p)
		}
	}
	shown := get[*api.Job](f, "/v1/job/a?namespace=default")
	if p := shown.TaskGroups[0].Tasks[0].ScalingPolicies; len(p) != 2 || p[0].ID == "" || p[0].ID == p[1].ID {
		t.Errorf("in the job: %+v", p)
	}
}

// A signal goes to one task or to all, and an answer names each that has not
// got it.
func TestSignals(t *testing.T) {
	t.Parallel()
	lame := newTask("lame", "run_for", "1h", "signal_error", "no ears")
	f := serve(t, newJob("one", "batch", newTask("fine", "run_for", "1h"), lame), newJob("both", "batch", lame, newTask("dumb", "run_for", "1h", "signal_error", "no ears")),
		newJob("none", "batch", newTask("alone", "run_for", "1h")))
	for _, id := range []string{"one", "both", "none"} {
		f.untilJobIs(id, "running")
	}
	failed := func(task string) string { return "\t* Failed to signal task: " + task + ", err: no ears\n" }
	for job, want := range map[string]string{
		"one":  "500 1 error occurred:\n" + failed("lame"),
		"both": "500 2 errors occurred:\n" + failed("lame") + failed("dumb"),
		"none": `200 {"Index":0}`,
	} {
		alloc := get[[]*api.AllocationListStub](f, "/v1/job/"+job+"/allocations")[0].ID
		follow(f, "/v1/allocation/"+alloc, func(a *api.Allocation) bool {
			for _, s := range a.TaskStates {
				if s.State != "running" {
					return false
				}
			}
			return true
		})
		f.answers(t, map[string]string{`PUT /v1/client/allocation/` + alloc + `/signal {"Signal":"SIGUSR1"}`: want})
		for task, state := range f.alloc(alloc).TaskStates {
			signaled := slices.ContainsFunc(state.Events, func(e *api.TaskEvent) bool { return e.Type == "Signaling" })
			if task == "fine" && !signaled {
				t.Error("the task that can be signaled was not")
			}
		}
	}
}

// All tasks of an allocation are restarted, or one of them.
func TestRestarts(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("a", "run_for", "1h"), newTask("b", "run_for", "1h")))
	alloc := f.running("a").ID
	restarts := func(a, b uint64) {
		t.Helper()
		follow(f, "/v1/allocation/"+alloc, func(now *api.Allocation) bool {
			one, two := now.TaskStates["a"], now.TaskStates["b"]
			return one.State == "running" && two.State == "running" && one.Restarts == a && two.Restarts == b
		})
	}
	restarts(0, 0)
	path := "PUT /v1/client/allocation/" + alloc + "/restart "
	f.answers(t, map[string]string{path + "{}": `200 {"Index":0}`})
	restarts(1, 1)
	f.answers(t, map[string]string{path + `{"TaskName":"b"}`: `200 {"Index":0}`})
	restarts(1, 2)
	f.answers(t, map[string]string{path + `{"AllTasks":true}`: `200 {"Index":0}`})
	restarts(2, 3)
}

// A command is not run in a task that does not run.
func TestExecInATaskThatDoesNotRun(t *testing.T) {
	t.Parallel()
	last := newTask("last", "run_for", "1h")
	last.Lifecycle = &api.TaskLifecycle{Hook: "poststop"}
	first := newTask("first")
	first.Lifecycle = &api.TaskLifecycle{Hook: "prestart"}
	f := serve(t, newJob("job", "batch", first, newTask("main", "run_for", "1h"), last))
	alloc := f.running("main").ID
	for query, want := range map[string]string{
		`task=last&command=["a"]`:           `task "last" not started yet.`,
		`task=first&command=["a"]`:          `task "first" is not running.`,
		`task=main&command=["a"]&term=a%00`: "invalid kind of terminal",
	} {
		_, _, err := f.dial("/v1/client/allocation/" + alloc + "/exec?tty=false&" + query).ReadMessage()
		if err == nil || !strings.HasSuffix(err.Error(), "1008 (policy violation): "+want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// The parameter run stops the whole run, as Ctrl-C does, or kills it.
func TestStopTheRun(t *testing.T) {
	t.Parallel()
	for how, kill := range map[string]bool{"stop": false, "kill": true} {
		stopped := make(chan bool, 1)
		f := serveWith(t, func(c *httpapi.Config) { c.StopRun = func(kill bool) { stopped <- kill } }, newJob("job", "batch", newTask("t", "run_for", "1h")))
		f.answers(t, map[string]string{"DELETE /v1/job/job?run=" + how: `200 {"EvalID":"",…`})
		if got := <-stopped; got != kill {
			t.Errorf("%s: kill is %v", how, got)
		}
	}
	f := serve(t, newJob("job", "batch", newTask("t", "run_for", "1h")))
	f.answers(t, map[string]string{"DELETE /v1/job/job?run=stop": "400 …"}) // it cannot be stopped
}

// A deployment counts allocations that are set healthy and unhealthy by hand.
func TestHealthInTheScaleStatus(t *testing.T) {
	t.Parallel()
	job := deployable(3, "a", func(u *api.UpdateStrategy) { u.HealthCheck, u.MaxParallel = new("manual"), new(3) })
	job.TaskGroups[0].Update.AutoRevert = new(false)
	other := *job.TaskGroups[0]
	other.Name, other.Count = new("other"), new(1)
	job.TaskGroups = append(job.TaskGroups, &other)
	f := serve(t, job)
	d := follow(f, "/v1/job/job/deployment", func(d *api.Deployment) bool { return d != nil && d.TaskGroups["g"].PlacedAllocs == 3 })
	var ids []string
	for _, a := range get[[]*api.AllocationListStub](f, "/v1/deployment/allocations/"+d.ID) {
		if a.TaskGroup == "g" {
			ids = append(ids, a.ID)
		}
	}
	if _, _, err := f.client.Deployments().SetAllocHealth(d.ID, ids[:2], ids[2:], nil); err != nil {
		t.Fatal(err)
	}
	status := get[api.JobScaleStatusResponse](f, "/v1/job/job/scale")
	for name, want := range map[string]api.TaskGroupScaleStatus{"g": {Desired: 3, Placed: 3, Healthy: 2, Unhealthy: 1}, "other": {Desired: 1, Placed: 1}} {
		got := status.TaskGroups[name]
		if got.Running = 0; !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if a := f.alloc(ids[2]); a.DeploymentStatus == nil || *a.DeploymentStatus.Healthy || a.DeploymentStatus.Canary || a.DeploymentStatus.ModifyIndex == 0 {
		t.Errorf("the unhealthy one: %+v", a.DeploymentStatus)
	}
}

// The plan of a periodic job names its next launch, and without diff no fields.
func TestPlanOfAPeriodicJob(t *testing.T) {
	t.Parallel()
	job := func(spec string) *api.Job {
		j := newJob("job", "batch", newTask("t"))
		j.Periodic = &api.PeriodicConfig{Spec: &spec}
		j.Canonicalize()
		return j
	}
	f := serve(t, job("0 0 1 1 *"))
	plan, _, err := f.client.Jobs().Plan(job("0 0 2 1 *"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := plan.NextPeriodicLaunch; n.Month() != time.January || n.Day() != 2 || n.Before(time.Now()) {
		t.Errorf("next launch %v", n)
	}
	if plan.Diff.Type != "Edited" || plan.Diff.ID != "job" || len(plan.Diff.TaskGroups) != 0 || plan.JobModifyIndex == 0 {
		t.Errorf("%+v, %+v", plan, plan.Diff)
	}
	if plan, _, err = f.client.Jobs().Plan(job("0 0 2 1 *"), true, nil); err != nil || len(plan.Diff.TaskGroups) != 1 {
		t.Errorf("with diff %+v, %v", plan.Diff, err)
	}
}

// A service comes and goes on the event stream, as it was offered.
func TestServicesOnTheEventStream(t *testing.T) {
	t.Parallel()
	f := serve(t)
	events := json.NewDecoder(f.do("GET", "/v1/event/stream?topic=Service&topic=Node:none", nil).Body)
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Services = []*api.Service{{Name: "web", Provider: "nomad", Tags: []string{"a"}}}
	job.Canonicalize()
	if err := f.engine.Submit(job); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		var batch api.Events
		for len(batch.Events) == 0 {
			if err := events.Decode(&batch); err != nil {
				t.Fatal(err)
			}
		}
		e := batch.Events[0]
		s, err := e.Service()
		if err != nil || e.Type != want || e.Key != s.ID || !cmp.Equal(e.FilterKeys, []string{"web", "job"}) || batch.Index != e.Index {
			t.Fatalf("%+v, %v; want a %s", e, err, want)
		}
		if s.ServiceName != "web" || s.NodeID != nodeID || s.Datacenter != "dc1" || s.Namespace != "default" || s.JobID != "job" || s.AllocID == "" || s.CreateIndex != e.Index {
			t.Errorf("%+v", s)
		}
	}
	next("ServiceRegistration")
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	next("ServiceDeregistration")
}

// Files that cannot be read say so, and a client sees that a stream lives.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	local := filepath.Join(dir, "t/local")
	if err := os.Symlink("loop", filepath.Join(local, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "page"), []byte("\x00\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(local, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "private"), nil, 0); err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{
		"GET /v1/client/fs/ls/" + id + "?path=t/local/lines":                                  "404 readdir t/local/lines: not a directory",
		"GET /v1/client/fs/ls/" + id + "?path=t/local/loop":                                   "500 …",
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&origin=x":                     "400 origin must be start or end",
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&origin=end&offset=4&follow=0": `200 {"Offset":8,"Data":"dHdvCg==","File":"t/local/lines"}`,
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&offset=-9&follow=false":       `200 {"Offset":8,"Data":"b25lCnR3bwo=","File":"t/local/lines"}`,
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&offset=99&follow=false":       "200 ",
		"GET /v1/client/fs/readat/" + id + "?path=t/local/lines&offset=0&limit=-1":            "200 one\ntwo\n",
		"GET /v1/client/fs/readat/" + id + "?path=t/local/lines&offset=8":                     "200 ",
	}
	if os.Geteuid() != 0 {
		calls["GET /v1/client/fs/ls/"+id+"?path=t/local/locked"] = "403 …"
		calls["GET /v1/client/fs/stat/"+id+"?path=t/local/private"] = "403 …"
		calls["GET /v1/client/fs/cat/"+id+"?path=t/local/private"] = "403 …"
	}
	f.answers(t, calls)
	if info := get[map[string]any](f, "/v1/client/fs/stat/"+id+"?path=t/local/page"); info["ContentType"] != "application/octet-stream" || info["Size"] != 2.0 {
		t.Errorf("%v", info)
	}
	if kind := f.do("GET", "/v1/client/fs/cat/"+id+"?path=t/local/lines", nil).Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("a text is sent as %q", kind)
	}
	beats := f.do("GET", "/v1/client/fs/stream/"+id+"?path=t/local/lines&offset=99", nil)
	var beat api.StreamFrame
	if err := json.NewDecoder(beats.Body).Decode(&beat); err != nil || !beat.IsHeartbeat() || beats.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v, %v", beat, err)
	}
}

// Heartbeats of the log are empty frames, and none in a plain log.
func TestMonitorHeartbeats(t *testing.T) {
	t.Parallel()
	f := serve(t)
	resp := f.do("GET", "/v1/agent/monitor", nil)
	var beat api.StreamFrame
	if err := json.NewDecoder(resp.Body).Decode(&beat); err != nil || !beat.IsHeartbeat() || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v, %v", beat, err)
	}
	silent := newJob("silent", "batch", newTask("t", "run_for", "1h"))
	if err := f.engine.Submit(silent); err != nil {
		t.Fatal(err)
	}
	alloc := f.running("t").ID
	frames := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=t&type=stdout&silent=true&follow=true", nil)
	dec := json.NewDecoder(frames.Body)
	for beat.FileEvent = "first"; !beat.IsHeartbeat(); { // one that says that there may be output comes first
		beat = api.StreamFrame{}
		if err := dec.Decode(&beat); err != nil {
			t.Fatal(err)
		}
	}
	if kind := frames.Header.Get("Content-Type"); kind != "application/json" || !bytes.Equal(beat.Data, nil) {
		t.Errorf("%q, %+v", kind, beat)
	}
}

// Allocations and evaluations whose IDs begin alike are listed by their IDs.
func TestPrefixesOfIDs(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Count = new(17) // two of which begin with the same digit
	f := serve(t, job)
	f.running("t")
	for range 17 {
		f.answers(t, map[string]string{"PUT /v1/job/job/evaluate {}": "200 …"})
	}
	for _, path := range []string{"/v1/allocations", "/v1/evaluations"} {
		byDigit := map[byte]int{}
		all := follow(f, path, func(list []struct{ ID string }) bool { return len(list) >= 17 })
		for _, v := range all {
			byDigit[v.ID[0]]++
		}
		for digit, n := range byDigit {
			if n > 1 {
				f.sorted(path+"?prefix="+strings.ToUpper(string(digit))+"&", func(v map[string]any) string { return v["ID"].(string) })
			}
		}
	}
}

// What is known of allocations that have ended is kept as long as they are.
func TestManyAllocations(t *testing.T) {
	t.Parallel()
	parent := newJob("parent", "batch", newTask("t"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, parent)
	const many = 70 // after 64 those that the engine has forgotten are dropped
	for range many {
		if _, _, err := f.client.Jobs().Dispatch("parent", nil, nil, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	follow(f, "/v1/allocations", func(list []*api.AllocationListStub) bool {
		return len(list) == many && !slices.ContainsFunc(list, func(a *api.AllocationListStub) bool { return a.ClientStatus != "complete" || a.CreateIndex <= 1 })
	})
}

// Where the files are gone there is nothing to be read.
func TestFilesThatAreGone(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	if err := os.RemoveAll(filepath.Join(dir, "alloc", "logs")); err != nil {
		t.Fatal(err)
	}
	f.answers(t, map[string]string{
		"GET /v1/client/fs/logs/" + id + "?task=t&type=stderr":             `404 log entry for task "t" and log type "stderr" not found`,
		"GET /v1/client/fs/logs/" + id + "?task=t&type=stdout&follow=true": `404 log entry for task "t" and log type "stdout" not found`,
	})
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"ls", "stat", "cat", "readat", "stream"} {
		f.answers(t, map[string]string{"GET /v1/client/fs/" + what + "/" + id + "?path=t&offset=0": "404 lstat …"})
	}
	if err := os.Rename(dir+"-gone", dir); err != nil {
		t.Fatal(err)
	}
}

// Shutdown tells that a command does not end, and Serve why it cannot listen.
func TestServerThatCannotEnd(t *testing.T) {
	t.Parallel()
	started, free := make(chan struct{}, 1), make(chan struct{})
	f, alloc := serveExec(t, func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		started <- struct{}{}
		<-free
		return &drivers.ExitResult{}, nil
	})
	f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
	f.receive(started, "it did not start")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))
	if err := f.server.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "no patience") {
		t.Errorf("it ended: %v", err)
	}
	close(free)
	other := serve(t)
	l, _, err := httpapi.ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := httpapi.ListenTCP(l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listened twice: %v", err)
	}
	_ = l.Close()
	if err := other.server.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("served a closed listener: %v", err)
	}
}
