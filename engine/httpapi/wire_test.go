package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// exchange is a recorded request to a real agent and its response.
type exchange struct {
	Request struct {
		Method, Path string
		Body         json.RawMessage
	}
	Status  int
	Headers map[string]string
	Body    any
}

// recordedAlloc is the allocation of the recordings.
const recordedAlloc = "7f5775a9-9340-2f1a-6f37-61f8f32236ed"

// recordedEvaluation is the evaluation that placed it.
const recordedEvaluation = "69b4f9a2-ff7e-8f4f-1d98-8d45e5ae1eeb"

// differs explains why the values of some keys are not compared.
var differs = map[string]string{
	"Config":             "the tasks are mocks",
	"Events":             "those of mocks; the engine's own tests compare them",
	"EvalID":             "random",
	"PlanAnnotations":    "there is no scheduler that would make a plan",
	"SnapshotIndex":      "an index",
	"Index":              "an index",
	"EvalCreateIndex":    "an index",
	"Warnings":           "in words of taskrun's own",
	"ModTime":            "a time",
	"Size":               "of what mocks write, and of directories",
	"Metrics":            "of the placement only the number of nodes is known",
	"RequireProgressBy":  "a time",
	"StartedAt":          "a time",
	"FinishedAt":         "a time",
	"CreateTime":         "a time",
	"ModifyTime":         "a time",
	"SubmitTime":         "a time",
	"ID":                 "random",
	"SigningKeyID":       "random",
	"DeploymentID":       "random",
	"NodeID":             "that of the machine",
	"CreateIndex":        "an index",
	"ModifyIndex":        "an index",
	"AllocModifyIndex":   "an index",
	"JobCreateIndex":     "an index",
	"JobModifyIndex":     "an index",
	"JobSpecModifyIndex": "an index",
	"Value":              "a port",
	"Port":               "a port",
	"AllocID":            "random",
	"Tags":               "in the order of the job file",
	"Status":             "of the job, which was looked at at another moment",
	"Offset":             "the length of the output of mocks",
	"Data":               "the output of mocks",
}

// missing lists recorded keys that the types of Nomad's client lack, so no
// client reads them.
var missing = []string{
	".TaskLifecycles", ".ReservedCores", ".SecretsMB", ".CSIPluginConfig",
	".Paused", ".DesiredTransition", ".AutoPromote", ".EvalPriority", ".Services[0].Namespace",
	"[0].Multiregion", "[0].NodePool", "[0].Hash",
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	f := serve(t, recordedJob(t))
	alloc := f.running("server")
	evaluation := f.evaluation(alloc.ID)
	for _, name := range recordings(t) {
		var want exchange
		readFile(t, name, &want)
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			path := strings.ReplaceAll(want.Request.Path, recordedAlloc, alloc.ID)
			path = strings.ReplaceAll(path, recordedAlloc[:8], alloc.ID[:8])
			path = strings.ReplaceAll(path, recordedEvaluation, evaluation)
			got := f.do(want.Request.Method, path, bytes.NewReader(want.Request.Body))
			if got.StatusCode != want.Status {
				t.Errorf("status %d, want %d", got.StatusCode, want.Status)
			}
			for header, value := range want.Headers {
				compareHeader(t, header, value, got.Header.Get(header))
			}
			body := readAll(t, got.Body)
			if text, ok := want.Body.(string); ok && got.Header.Get("Content-Type") != "application/json" {
				if want.Status != http.StatusOK && body != text {
					t.Errorf("body %q, want %q", body, text)
				}
				return
			}
			var value any
			if err := json.Unmarshal([]byte(body), &value); err != nil {
				t.Fatalf("%v in %q", err, body)
			}
			compare(t, "", want.Body, value)
		})
	}
}

// recordings returns recordings in an order in which orders come last, and
// those that end a task after those that need it running.
func recordings(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/wire/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no recordings", err)
	}
	last := []string{"alloc-services", "alloc-signal", "alloc-restart-unknown", "alloc-restart", "alloc-stop", "job-stop"}
	slices.SortStableFunc(names, func(a, b string) int {
		order := func(name string) int { return slices.Index(last, strings.TrimSuffix(filepath.Base(name), ".json")) }
		return order(a) - order(b)
	})
	return names
}

// recordedJob is the job of the recordings, with tasks that need no programs.
func recordedJob(t *testing.T) *api.Job {
	t.Helper()
	var recorded struct{ Body api.Job }
	readFile(t, "testdata/wire/job.json", &recorded)
	job := &recorded.Body
	job.Status, job.SubmitTime, job.Version = nil, nil, nil
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = nil, nil, nil
	for _, task := range job.TaskGroups[0].Tasks {
		task.Config = map[string]any{"stdout_string": "one\n", "stderr_string": "two\n"}
		if task.Lifecycle == nil {
			task.Config["run_for"] = "1h"
		}
	}
	job.Canonicalize()
	return job
}

func compareHeader(t *testing.T, name, want, got string) {
	t.Helper()
	switch name {
	case "Vary": // nothing is compressed here
	case "X-Nomad-Index":
		if got == "" || got == "0" {
			t.Errorf("header %s: %q, want a number above 0", name, got)
		}
	default:
		if got != want {
			t.Errorf("header %s: %q, want %q", name, got, want)
		}
	}
}

// compare checks that got contains everything in want, except for values that are
// null there.
func compare(t *testing.T, path string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %T, want an object", path, got)
			return
		}
		for key, value := range want {
			if slices.ContainsFunc(missing, func(end string) bool { return strings.HasSuffix(path+"."+key, end) }) {
				continue
			}
			gotValue, ok := object[key]
			if !ok {
				t.Errorf("%s.%s is missing", path, key)
				continue
			}
			if _, ok := differs[key]; !ok {
				compare(t, path+"."+key, value, gotValue)
			} else if value == nil && gotValue != nil {
				t.Errorf("%s.%s: %v, want null", path, key, gotValue)
			}
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s: %v, want %d elements", path, got, len(want))
			return
		}
		for i := range want {
			compare(t, fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
		}
	case nil:
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// The recorded frame is one object whose offset is the end of its data.
func TestLogFrameMatchesTheRecording(t *testing.T) {
	t.Parallel()
	var recorded struct{ Body api.StreamFrame }
	readFile(t, "testdata/wire/logs-frames.json", &recorded)
	f := serve(t, newJob("job", "batch", newTask("server", "run_for", "1h", "stdout_string", string(recorded.Body.Data))))
	alloc := f.running("server")
	f.untilOutput(alloc.ID, "server", len(recorded.Body.Data))
	body := readAll(t, f.do("GET", "/v1/client/fs/logs/"+alloc.ID+"?task=server&type=stdout&follow=false", nil).Body)
	want := fmt.Sprintf(`{"Offset":%d,"Data":%q,"File":%q}`,
		recorded.Body.Offset, base64.StdEncoding.EncodeToString(recorded.Body.Data), recorded.Body.File)
	if body != want {
		t.Errorf("got %s, want %s", body, want)
	}
}

// untilOutput waits until a task's stdout has a length.
func (f *fixture) untilOutput(alloc, task string, length int) {
	f.Helper()
	resp := f.do("GET", "/v1/client/fs/logs/"+alloc+"?follow=true&plain=true&type="+event.Stdout.String()+"&task="+task, nil)
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, length)); err != nil {
		f.Fatal(err)
	}
}
