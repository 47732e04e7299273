package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// The log contains every event of a job, each with its level, module and names.
func TestMonitorReportsAllEvents(t *testing.T) {
	t.Parallel()
	f := serve(t)
	lines := json.NewDecoder(f.do("GET", "/v1/agent/monitor?plain=true&log_json=true&log_level=TRACE", nil).Body)
	good := deployable(1, "a", asIs)
	good.TaskGroups[0].Services = []*api.Service{{
		Name: "web", Provider: "nomad", PortLabel: "1", Address: "127.0.0.1",
		Checks: []api.ServiceCheck{{Name: "alive", Type: "tcp", Interval: time.Second, Timeout: time.Second}},
	}}
	good.TaskGroups[0].Update.HealthCheck = new("task_states")
	good.Canonicalize()
	bad := deployable(1, "a", asIs)
	bad.ID, bad.Name = new("bad"), new("bad")
	bad.TaskGroups[0].Tasks[0].Config["start_error"] = "nope"
	bad.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	if err := f.engine.Submit(good, bad); err != nil {
		t.Fatal(err)
	}
	type pairs map[string]string // names in a line, and parts of their values
	type line struct {
		head string // level, module and message
		pairs
	}
	const alloc, task = " client.alloc_runner ", " client.alloc_runner.task_runner "
	wanted := []line{
		{"info" + task + "Task event", pairs{"alloc_id": "", "task": "t", "type": "Started", "msg": "Task started by client"}},
		{"info" + task + "Task event", pairs{"alloc_id": "", "task": "t", "type": "Driver Failure", "msg": "nope"}},
		{"error" + task + "Task event", pairs{"alloc_id": "", "task": "t", "type": "Not Restarting", "msg": ""}},
		{"debug" + task + "task state", pairs{"alloc_id": "", "task": "t", "state": "running"}},
		{"debug" + alloc + "allocation status", pairs{"alloc_id": "", "status": "running", "description": ""}},
		{"debug" + alloc + "allocation is healthy", pairs{"alloc_id": ""}},
		{"debug" + alloc + "allocation is unhealthy", pairs{"alloc_id": ""}},
		{"debug" + alloc + "service registered", pairs{"alloc_id": "", "service": "web", "id": ""}},
		{"debug" + alloc + "check", pairs{"alloc_id": "", "service": "web", "check": "alive", "status": "failure"}},
		{"debug nomad.deployments_watcher Deployment completed successfully", pairs{"job": "job", "deployment_id": "", "status": "successful"}},
	}
	await := func() {
		for deadline := time.Now().Add(patience); len(wanted) > 0; {
			var got pairs
			if err := lines.Decode(&got); err != nil || time.Now().After(deadline) {
				t.Fatalf("%v; missing are %v", err, wanted)
			}
			if at, err := time.Parse(time.RFC3339Nano, got["@timestamp"]); err != nil || time.Since(at).Abs() > time.Minute {
				t.Errorf("time %v, %v", at, err)
			}
			wanted = slices.DeleteFunc(wanted, func(w line) bool {
				right := w.head == got["@level"]+" "+got["@module"]+" "+got["@message"] && len(got) == 4+len(w.pairs)
				for name, part := range w.pairs {
					value, ok := got[name]
					right = right && ok && strings.Contains(value, part)
				}
				return right
			})
		}
	}
	await()
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	wanted = []line{{"debug" + alloc + "service deregistered", pairs{"alloc_id": "", "service": "web", "id": ""}}}
	await()
}

// A level omits those below it, and a client can name the node and the server.
func TestMonitorLevels(t *testing.T) {
	t.Parallel()
	f := serve(t)
	logs := map[string]*answer{}
	wanted := map[string]string{
		"log_level=error&node_id=" + nodeID: "error", "log_level=warn&server_id=leader": "error", "server_id=vm": "info", "log_level=Debug": "debug",
	}
	for query := range wanted {
		logs[query] = f.do("GET", "/v1/agent/monitor?plain=true&log_json=true&"+query, nil)
	}
	if err := f.engine.Submit(newJob("job", "batch", newTask("t", "start_error", "nope"))); err != nil {
		t.Fatal(err)
	}
	for query, want := range wanted {
		resp := logs[query]
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/plain" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %q", query, resp.StatusCode, kind)
		}
		order, lowest := []string{"debug", "info", "warn", "error"}, 3
		for dec, level := json.NewDecoder(resp.Body), ""; level != "error"; {
			var line map[string]string
			if err := dec.Decode(&line); err != nil {
				t.Fatal(err)
			}
			level = line["@level"]
			lowest = min(lowest, slices.Index(order, level))
		}
		if lowest < 0 || order[lowest] != want {
			t.Errorf("%s: the lowest level is number %d, want %s", query, lowest, want)
		}
	}
}

// Heartbeats of the log are empty frames; a plain log has none.
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
	frames := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=t&type=stdout&follow=true", nil)
	dec := json.NewDecoder(frames.Body)
	for beat.FileEvent = "first"; !beat.IsHeartbeat(); {
		beat = api.StreamFrame{}
		if err := dec.Decode(&beat); err != nil {
			t.Fatal(err)
		}
	}
	if kind := frames.Header.Get("Content-Type"); kind != "application/json" || !bytes.Equal(beat.Data, nil) {
		t.Errorf("%q, %+v", kind, beat)
	}
}
