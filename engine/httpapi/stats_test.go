package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// The usage of tasks is in the form of a real agent: the driver reports the
// recorded usage, and the response is the recorded one.
func TestStatsOnTheWire(t *testing.T) {
	t.Parallel()
	var recorded struct {
		Body struct {
			ResourceUsage map[string]any
			Tasks         map[string]json.RawMessage
			Timestamp     int64
		}
	}
	readFile(t, "testdata/alloc-stats.json", &recorded)
	delete(recorded.Body.Tasks, "setup") // it has ended, and has no usage

	f := serve(t)
	f.driver.uses = &drivers.TaskResourceUsage{Processes: 1}
	if err := json.Unmarshal(recorded.Body.Tasks["server"], &f.driver.uses.TaskResourceUsage); err != nil {
		t.Fatal(err)
	}
	if err := f.engine.Submit(newJob("job", "service", newTask("server", "run_for", "1h"))); err != nil {
		t.Fatal(err)
	}
	alloc := f.running("server")
	answer := f.do("GET", "/v1/client/allocation/"+alloc.ID+"/stats", nil)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the answer is %+v", answer)
	}
	// The api's own type has no MappedFile.
	plain := func(v any) (out any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"MappedFile":0,`, "")), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(plain(recorded.Body), plain(json.RawMessage(readAll(t, answer.Body)))); diff != "" {
		t.Errorf("the answer (-recorded +got):\n%s", diff)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("a", "run_for", "1h"), newTask("b", "run_for", "1h")))
	f.driver.uses = &drivers.TaskResourceUsage{Processes: 1}
	f.driver.uses.ResourceUsage = &api.ResourceUsage{
		MemoryStats: &api.MemoryStats{RSS: 7, Measured: []string{"RSS"}}, CpuStats: &api.CpuStats{Percent: 2, Measured: []string{"Percent"}},
	}
	f.driver.uses.Timestamp = 99
	left := 2 // tasks that are not running yet
	alloc := f.until(func(e event.Event) bool {
		if s, ok := e.Body.(event.TaskState); ok && s.State == "running" {
			left--
		}
		return left == 0
	}).Alloc
	all, err := f.client.Allocations().Stats(&api.Allocation{ID: alloc.ID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Tasks) != 2 || all.ResourceUsage.MemoryStats.RSS != 14 || all.ResourceUsage.CpuStats.Percent != 4 || all.Timestamp != 99 {
		t.Errorf("they use %+v", all)
	}
	one, err := f.client.Allocations().Stats(&api.Allocation{ID: alloc.ID}, &api.QueryOptions{Params: map[string]string{"task": "a"}})
	if err != nil || len(one.Tasks) != 1 || one.ResourceUsage.MemoryStats.RSS != 7 {
		t.Errorf("one uses %+v, %v", one, err)
	}
	for path, want := range map[string]string{
		"/v1/client/allocation/" + alloc.ID + "/stats?task=c":         `unknown task name "c"`,
		"/v1/client/allocation/" + strings.Repeat("0", 36) + "/stats": "Unknown allocation",
	} {
		answer := f.do("GET", path, nil)
		if text := readAll(t, answer.Body); answer.StatusCode != http.StatusNotFound || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}
