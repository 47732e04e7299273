package httpapi_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

// A node has the fields that Nomad sends, also those that its client does not
// know.
func TestNodeOnTheWire(t *testing.T) {
	t.Parallel()
	began := time.Now()
	f := serve(t)
	node := get[map[string]any](f, "/v1/node/"+nodeID)
	if secret, ok := node["SecretID"]; !ok || secret != "" {
		t.Errorf("SecretID is %v", secret)
	}
	for _, name := range []string{"Meta", "Links", "HostVolumes", "CSIControllerPlugins", "CSINodePlugins"} {
		if m, ok := node[name].(map[string]any); !ok || m == nil {
			t.Errorf("%s is %v", name, node[name])
		}
	}
	resources := node["NodeResources"].(map[string]any)
	if resources["MinDynamicPort"] != 20000.0 || resources["MaxDynamicPort"] != 32000.0 {
		t.Errorf("dynamic ports %v to %v", resources["MinDynamicPort"], resources["MaxDynamicPort"])
	}
	if at := node["StatusUpdatedAt"].(float64); at <= float64(began.Unix()) {
		t.Errorf("its status changed at %.0f, not after %d", at, began.Unix())
	}
	events, err := f.client.EventStream().Stream(t.Context(), map[api.Topic][]string{api.TopicNode: {"*"}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for batch := range events {
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		if batch.IsHeartbeat() {
			continue
		}
		sent := batch.Events[0].Payload["Node"].(map[string]any)
		if secret, ok := sent["SecretID"]; !ok || secret != "" || sent["ID"] != nodeID {
			t.Errorf("the event has node %v with SecretID %v", sent["ID"], secret)
		}
		return
	}
}

// A list is at index 0 until its table changes for the first time, as in Nomad.
func TestIndexOfEmptyLists(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	const none = "00000000-0000-0000-0000-000000000000"
	lists := map[string]string{
		"jobs": "0", "allocations": "0", "allocations?prefix=00": "0", "evaluations": "0", "deployments": "0",
		"job/x/allocations": "0", "job/x/evaluations": "0", "job/x/deployments": "0",
		"evaluation/" + none + "/allocations": "0", "deployment/allocations/" + none: "0",
		"services": "1", "service/x": "1", "vars": "1",
	}
	for path, want := range lists {
		resp := f.do("GET", "/v1/"+path, nil)
		if body := readAll(t, resp.Body); resp.Header.Get("X-Nomad-Index") != want || body != "[]" {
			t.Errorf("%s: index %s, want %s: %s", path, resp.Header.Get("X-Nomad-Index"), want, body)
		}
	}
	if _, _, err := f.client.Jobs().Register(newJob("job", "batch", newTask("t", "run_for", "1h")), nil); err != nil {
		t.Fatal(err)
	}
	f.running("t")
	for _, path := range []string{"jobs?prefix=x", "allocations?prefix=" + none, "evaluations?prefix=" + none, "job/x/allocations", "job/x/evaluations"} {
		resp := f.do("GET", "/v1/"+path, nil)
		if body := readAll(t, resp.Body); resp.Header.Get("X-Nomad-Index") == "0" || body != "[]" {
			t.Errorf("%s: index %s: %s", path, resp.Header.Get("X-Nomad-Index"), body)
		}
	}
}

// The debug lines of the log are those of requests, without their query.
func TestMonitorLogsRequests(t *testing.T) {
	t.Parallel()
	f := serve(t)
	debug := bufio.NewReader(f.do("GET", "/v1/agent/monitor?plain=true&log_level=debug", nil).Body)
	info := bufio.NewReader(f.do("GET", "/v1/agent/monitor?plain=true", nil).Body)
	readAll(t, f.do("GET", "/v1/job/a%0Ab?pretty", nil).Body)
	line, err := debug.ReadString('\n')
	if want := " [DEBUG] http: request complete: method=GET path=\"/v1/job/a%0Ab\" duration="; err != nil || !strings.Contains(line, want) {
		t.Errorf("line %q, %v; want %q", line, err, want)
	}
	if err := f.engine.Submit(newJob("job", "batch", newTask("t", "run_for", "1h"))); err != nil {
		t.Fatal(err)
	}
	if line, err := info.ReadString('\n'); err != nil || strings.Contains(line, "http:") {
		t.Errorf("of level info: %q, %v", line, err)
	}
}

// Metrics count requests and the ends of tasks.
func TestCounters(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("bad", "exit_code", 1), newTask("good"))
	tasks := job.TaskGroups[0].Tasks
	tasks[0].RestartPolicy = &api.RestartPolicy{Attempts: new(1), Delay: new(time.Duration(0)), Mode: new("fail")}
	tasks[1].Lifecycle = &api.TaskLifecycle{Hook: api.TaskLifecycleHookPrestart} // otherwise it may be killed with the other
	job.Canonicalize()
	f := serve(t, job)
	f.untilJobIs("job", "dead")
	summary := get[api.MetricsSummary](f, "/v1/metrics?pretty=1")
	got := map[string]float64{}
	for _, c := range summary.Counters {
		got[c.Name+" "+c.DisplayLabels["task"]] = c.Sum
	}
	for name, want := range map[string]float64{
		"nomad.client.allocs.restart bad": 1, "nomad.client.allocs.failed bad": 1, "nomad.client.allocs.complete good": 1, "nomad.client.allocs.restart good": 0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s: %v", name, value)
		}
	}
	if got["nomad.nomad.rpc.request "] == 0 || len(summary.Samples) == 0 || summary.Samples[0].Count == 0 || summary.Samples[0].Max <= 0 {
		t.Errorf("requests: %v, %+v", got, summary.Samples)
	}
	text := readAll(t, f.do("GET", "/v1/metrics?format=prometheus", nil).Body)
	for _, line := range []string{
		"# TYPE nomad_client_allocs_restart counter", `nomad_client_allocs_restart{job="job",namespace="default",task="bad",task_group="g"} 1`,
		"# TYPE nomad_nomad_rpc_request counter", "# TYPE nomad_http_request summary", "nomad_http_request_count ",
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

// The agent describes the ports of its configuration.
func TestAgentConfig(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(c *httpapi.Config) { c.Ports, c.Dev = httpapi.Ports{HTTP: 1, RPC: 2, Serf: 3}, true })
	self, err := f.client.Agent().Self()
	if err != nil || self.Config["DevMode"] != true || self.Config["NodeName"] != "vm" || self.Member.Port != 3 || self.Member.Tags["port"] != "2" ||
		self.Stats["raft"]["num_peers"] != "0" { // `nomad check` fails without it
		t.Errorf("%+v, %v", self, err)
	}
	if ports, err := json.Marshal(self.Config["Ports"]); err != nil || string(ports) != `{"HTTP":1,"RPC":2,"Serf":3}` {
		t.Errorf("ports %s, %v", ports, err)
	}
	if members, err := f.client.Agent().Members(); err != nil || members.Members[0].Name != "vm.global" {
		t.Errorf("%+v, %v", members, err)
	}
	f.answers(t, map[string]string{
		"GET /v1/status/leader":                        `200 "127.0.0.1:2"`,
		"GET /v1/event/stream?topic=Evaluation:::*":    "400 Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: Evaluation:::*",
		"GET /v1/agent/monitor?node_id=a&server_id=b":  "400 Cannot target node and server simultaneously",
		"GET /v1/agent/monitor?server_id=other.global": "400 unknown Nomad server other.global",
	})
}
