package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"
)

func TestSearchOfEveryKind(t *testing.T) {
	t.Parallel()
	job := newJob("web", "service", newTask("server", "run_for", "1h"))
	job.TaskGroups[0].Services = []*api.Service{{Name: "preserve", Provider: "nomad", PortLabel: "80"}}
	job.Canonicalize()
	f := serve(t, job)
	alloc := f.running("server").ID
	for _, path := range []string{"web/db", "other"} {
		if _, _, err := f.client.Variables().Update(&api.Variable{Path: path, Items: api.VariableItems{"k": "v"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	evaluation := f.evaluation(alloc)
	for _, c := range []struct {
		prefix string
		kind   contexts.Context
		want   map[contexts.Context][]string
	}{
		{"we", contexts.All, map[contexts.Context][]string{contexts.Jobs: {"web"}, contexts.Variables: {"web/db"}}},
		{alloc[:7], contexts.Allocs, map[contexts.Context][]string{contexts.Allocs: {alloc}}},
		{strings.ToUpper(evaluation[:12]), contexts.Evals, map[contexts.Context][]string{contexts.Evals: {evaluation}}},
		{nodeID[:5], contexts.Nodes, map[contexts.Context][]string{contexts.Nodes: {nodeID}}},
		{"def", contexts.All, map[contexts.Context][]string{contexts.Namespaces: {"default"}, contexts.NodePools: {"default"}}},
		{"a", contexts.Plugins, map[contexts.Context][]string{}},
	} {
		answer, _, err := f.client.Search().PrefixSearch(c.prefix, c.kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		for kind, ids := range answer.Matches {
			if len(ids) == 0 {
				delete(answer.Matches, kind)
			}
		}
		if diff := cmp.Diff(c.want, answer.Matches); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.prefix, c.kind, diff)
		}
	}
	for _, kind := range []contexts.Context{"", "nonsense", contexts.Groups, contexts.Quotas} { // Nomad finds groups in all contexts alone
		if _, _, err := f.client.Search().PrefixSearch("a", kind, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("got %q", kind)) {
			t.Errorf("context %q: %v", kind, err)
		}
		if _, _, err := f.client.Search().FuzzySearch("ab", kind, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("got %q", kind)) {
			t.Errorf("context %q, fuzzy: %v", kind, err)
		}
	}
	fuzzy, _, err := f.client.Search().FuzzySearch("erve", contexts.All, nil)
	want := map[contexts.Context][]api.FuzzyMatch{
		contexts.Tasks:    {{ID: "server", Scope: []string{"default", "web", "g"}}},
		contexts.Services: {{ID: "preserve", Scope: []string{"default", "web", "g"}}},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, fuzzy.Matches); diff != "" {
		t.Errorf("fuzzy (-want +got):\n%s", diff)
	}
	if _, _, err := f.client.Search().FuzzySearch("e", contexts.All, nil); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("a short text: %v", err)
	}
}

func TestClientStats(t *testing.T) {
	t.Parallel()
	f := serve(t)
	stats, err := f.client.Nodes().Stats(nodeID, nil)
	if err != nil && strings.Contains(err.Error(), "unsupported operation") {
		t.Skip(err)
	}
	if err != nil || stats.Memory.Total == 0 || len(stats.CPU) == 0 || len(stats.DiskStats) == 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if resp := f.do("GET", "/v1/client/stats?node_id=other", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of another node: %d", resp.StatusCode)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob(`a"b`, "service", newTask("t", "run_for", "1h")))
	f.running("t")
	f.untilStatus("running")
	summary, _, err := f.client.Operator().MetricsSummary(nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float32{}
	for _, g := range summary.Gauges {
		values[g.Name] += g.Value
	}
	if values["nomad.nomad.job_summary.running"] != 1 || values["nomad.client.allocations.running"] != 1 || values["nomad.runtime.num_goroutines"] == 0 {
		t.Errorf("gauges %v", values)
	}
	resp := f.do("GET", "/v1/metrics?format=prometheus", nil)
	body := readAll(t, resp.Body)
	if !strings.Contains(body, `nomad_nomad_job_summary_running{job="a\"b",namespace="default",task_group="g"} 1`+"\n") {
		t.Errorf("exposition:\n%s", body)
	}
	sample := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ [a-z_]+|[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+)$`)
	for line := range strings.Lines(body) {
		if !sample.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("line %q", line)
		}
	}
	if resp := f.do("GET", "/v1/metrics?format=x", nil); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown format: %d", resp.StatusCode)
	}
}

func TestMonitor(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("t", "run_for", "1h")))
	id := f.running("t").ID
	frames, failures := f.client.Agent().Monitor(t.Context().Done(), &api.QueryOptions{Params: map[string]string{"log_level": "debug"}})
	plain := bufio.NewReader(f.do("GET", "/v1/agent/monitor?plain=true", nil).Body)
	structured := json.NewDecoder(f.do("GET", "/v1/agent/monitor?plain=true&log_json=true", nil).Body)
	if err := f.client.Allocations().Signal(&api.Allocation{ID: id}, nil, "t", "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	want := "[INFO]  client.alloc_runner.task_runner: Task event: alloc_id=" + id + " task=t type=Signaling msg="
	if line, err := plain.ReadString('\n'); err != nil || !strings.Contains(line, want) {
		t.Errorf("line %q, %v; want %q", line, err, want)
	}
	var line map[string]string
	if err := structured.Decode(&line); err != nil || line["@level"] != "info" || line["type"] != "Signaling" || line["alloc_id"] != id {
		t.Errorf("line %v, %v", line, err)
	}
	for found := false; !found; {
		select {
		case frame := <-frames:
			found = frame.FileEvent == "log" && strings.Contains(string(frame.Data), "type=Signaling")
		case err := <-failures:
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"log_level=loud": "Unknown log level: loud", "node_id=x": `Unknown node "x"`, "server_id=x": "unknown Nomad server x",
	} {
		if body := readAll(t, f.do("GET", "/v1/agent/monitor?"+query, nil).Body); body != want {
			t.Errorf("%s: %q", query, body)
		}
	}
}

func TestRefusedGarbageCollection(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("ended", "batch", newTask("e")), newJob("runs", "batch", newTask("r", "run_for", "1h")))
	id := f.running("r").ID
	f.untilJobIs("ended", "dead")
	count := func() (n struct{ Count int }) {
		t.Helper()
		if _, err := f.client.Raw().Query("/v1/evaluations/count", &n, nil); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n.Count != 2 {
		t.Errorf("%d evaluations", n.Count)
	}
	if err := f.client.System().GarbageCollect(); err != nil {
		t.Error(err)
	}
	if err := f.client.System().ReconcileSummaries(); err != nil {
		t.Error(err)
	}
	if list, _, err := f.client.Evaluations().List(nil); err != nil || len(list) != 1 || list[0].JobID != "runs" || count().Count != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if list, _, err := f.client.Allocations().List(nil); err != nil || len(list) != 2 {
		t.Errorf("allocations %v, %v", list, err)
	}
	unknown := "00000000-0000-0000-0000-000000000000"
	for call, want := range map[string]struct {
		code int
		text string
	}{
		"PUT /v1/node/" + nodeID + "/drain":            {501, "not supported"},
		"PUT /v1/node/" + unknown + "/drain":           {404, "node not found"},
		"PUT /v1/client/allocation/" + id + "/gc":      {501, "not supported"},
		"GET /v1/client/allocation/" + id + "/gc":      {501, "not supported"},
		"GET /v1/client/gc":                            {501, "not supported"},
		"PUT /v1/client/allocation/" + unknown + "/gc": {404, "Unknown allocation"},
		"PUT /v1/client/allocation/" + id + "/pause":   {400, "unknown schedule state"},
		"DELETE /v1/evaluations":                       {501, "not supported"},
		"GET /v1/node/pool/none":                       {404, "node pool not found"},
		"GET /ui/":                                     {404, ""},
	} {
		method, path, _ := strings.Cut(call, " ")
		resp := f.do(method, path, strings.NewReader("{}"))
		if body := readAll(t, resp.Body); resp.StatusCode != want.code || !strings.HasPrefix(body, want.text) {
			t.Errorf("%s: %d %q, want %d %q", call, resp.StatusCode, body, want.code, want.text)
		}
	}
	if pools, _, err := f.client.NodePools().List(nil); err != nil || len(pools) != 2 {
		t.Errorf("pools %v, %v", pools, err)
	}
}
