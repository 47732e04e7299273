package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
)

const parsed = `
variable "count" { default = 1 }
job "x" {
  group "g" {
    count = var.count
    task "t" { driver = "raw_exec" }
  }
}`

func TestParseJob(t *testing.T) {
	t.Parallel()
	f := serve(t)
	job, err := f.client.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: parsed, Variables: "count = 7\n", Canonicalize: true})
	if err != nil || *job.TaskGroups[0].Count != 7 || *job.Region != "global" {
		t.Errorf("%+v, %v", job, err)
	}
	if job, err = f.client.Jobs().ParseHCL(parsed, false); err != nil || job.Region != nil {
		t.Errorf("without defaults: %+v, %v", job, err)
	}
	for name, tt := range map[string]struct{ hcl, vars, want string }{
		"empty":       {"", "", "Job spec is empty"},
		"a fault":     {`job "x" { nope = 1 }`, "", "Failed to parse job: input.hcl:1,11: "},
		"a file":      {`job "x" { name = file("/etc/passwd") }`, "", "functions that deal with files cannot be called here"},
		"a variable":  {parsed, "count = file(\"/etc/passwd\")\n", "input.hclvars:1,9: "},
		"nonsense":    {strings.Repeat("{", 100_000), "", "Failed to parse job: input.hcl:1,"},
		"undeclared":  {parsed, "other = 1\n", ""},
		"environment": {`job "x" { name = "${env.HOME}" }`, "", ""},
	} {
		_, err := f.client.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: tt.hcl, Variables: tt.vars})
		switch {
		case tt.want == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "root:"):
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestEvaluateJob(t *testing.T) {
	t.Parallel()
	parent := newJob("parent", "batch", newTask("p"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	job := newJob("job", "batch", newTask("main", "run_for", "1h"))
	failing := api.NewTaskGroup("failing", 1)
	failing.Tasks = []*api.Task{newTask("failing", "exit_code", 1)}
	failing.ReschedulePolicy = &api.ReschedulePolicy{
		Attempts: new(1), Interval: new(time.Hour), Delay: new(time.Minute), DelayFunction: new("constant"), Unlimited: new(false),
	}
	job.TaskGroups = append(job.TaskGroups, failing)
	job.Canonicalize()
	f := serve(t, job, parent)
	// A failed allocation is replaced each time, and fails again.
	seen := map[string]bool{}
	for range 2 {
		f.untilStatus("failed")
		id, meta, err := f.client.Jobs().EvaluateWithOpts("job", api.EvalOptions{ForceReschedule: true}, nil)
		if err != nil || seen[id] || meta.LastIndex == 0 {
			t.Fatalf("%q at %+v, %v", id, meta, err)
		}
		seen[id] = true
		e, _, err := f.client.Evaluations().Info(id, nil)
		if err != nil || e.Status != "complete" || e.JobID != "job" || e.TriggeredBy != "job-register" || e.CreateIndex != meta.LastIndex {
			t.Errorf("%+v, %v", e, err)
		}
	}
	f.untilStatus("failed")
	for job, want := range map[string]string{
		"none":   "500 (job not found)",
		"parent": "500 (can't evaluate parameterized job)",
	} {
		if _, _, err := f.client.Jobs().EvaluateWithOpts(job, api.EvalOptions{ForceReschedule: true}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", job, err, want)
		}
	}
}

func TestJobSubmission(t *testing.T) {
	t.Parallel()
	source := &api.JobSubmission{Source: parsed, Format: "hcl2", VariableFlags: map[string]string{"count": "1"}}
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Sources = map[string]*api.JobSubmission{"job": source} },
		newJob("job", "batch", newTask("main", "run_for", "1h")))
	got, _, err := f.client.Jobs().Submission("job", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(source, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if body := readAll(t, f.do("GET", "/v1/job/job/submission?version=0", nil).Body); !strings.Contains(body, `"Namespace":"default","JobID":"job","Version":0,"JobModifyIndex":`) {
		t.Errorf("of what it is the source: %q", body)
	}
	for path, want := range map[string]string{
		"/v1/job/job/submission?version=1":  "job source not found",
		"/v1/job/none/submission?version=0": "job source not found",
		"/v1/job/job/submission":            "Unable to parse job submission version parameter",
	} {
		if body := readAll(t, f.do("GET", path, nil).Body); !strings.HasPrefix(body, want) {
			t.Errorf("%s: %q", path, body)
		}
	}
}

func TestJobServices(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("main", "run_for", "1h"))
	job.TaskGroups[0].Services = []*api.Service{{Name: "web", Provider: "nomad", PortLabel: "8080"}}
	job.Canonicalize()
	f := serve(t, job, newJob("other", "batch", newTask("other", "run_for", "1h")))
	f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.Service)
		return ok && s.Registered && s.Name == "web"
	})
	for job, want := range map[string]int{"job": 1, "other": 0} {
		list, _, err := f.client.Jobs().Services(job, nil)
		if err != nil || len(list) != want {
			t.Errorf("%s: %v, %v", job, list, err)
		}
	}
	if resp := f.do("GET", "/v1/job/none/services", nil); resp.StatusCode != 404 || readAll(t, resp.Body) != "job not found" {
		t.Errorf("of no job: %d", resp.StatusCode)
	}
}
