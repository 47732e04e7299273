package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

// answers sends requests, each METHOD PATH [BODY], and compares the responses
// with STATUS BODY. A response may continue where the expected one ends with
// "…".
func (f *fixture) answers(t *testing.T, calls map[string]string) {
	t.Helper()
	for call, want := range calls {
		method, rest, _ := strings.Cut(call, " ")
		path, body, _ := strings.Cut(rest, " ")
		resp := f.do(method, path, strings.NewReader(body))
		got := fmt.Sprintf("%d %s", resp.StatusCode, readAll(t, resp.Body))
		if begin, more := strings.CutSuffix(want, "…"); got != want && (!more || !strings.HasPrefix(got, begin)) {
			t.Errorf("%s: %s\nwant %s", call, got, want)
		}
	}
}

// A request for a missing object, or with an invalid query or body, is refused,
// and has no effect.
func TestRefusals(t *testing.T) {
	t.Parallel()
	cron := newJob("cron", "batch", newTask("c"))
	cron.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")}
	cron.Canonicalize()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Update.HealthCheck = new("manual")
	f := serveWith(t, func(c *httpapi.Config) { c.StopRun = func(bool) { t.Error("the run was stopped") } }, job, cron)
	alloc := f.running("t").ID
	d, _, err := f.client.Jobs().LatestDeployment("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	const none = "00000000-0000-0000-0000-000000000000"
	unknown := fmt.Sprintf("404 Unknown allocation %q", none)
	noBool := func(name string) string {
		return fmt.Sprintf(`400 Failed to parse value of %q (x) as a bool: strconv.ParseBool: parsing "x": invalid syntax`, name)
	}
	noNumber := func(what string) string { return `400 ` + what + `: strconv.ParseInt: parsing "x": invalid syntax` }
	tables := map[string]map[string]string{
		"jobs": {
			"GET /v1/jobs?meta=x":                                            noBool("meta"),
			"GET /v1/jobs?reverse=x":                                         noBool("reverse"),
			"GET /v1/jobs?per_page=x":                                        "400 Expect a number for `per_page` query string parameter",
			"GET /v1/job/none/actions":                                       `500 Unknown job "none"`,
			"GET /v1/job/none/scale":                                         "404 job not found",
			"GET /v1/job/none/services":                                      "404 job not found",
			"GET /v1/job/none/versions":                                      "404 job versions not found",
			"GET /v1/job/job/versions?diffs=x":                               noBool("diffs"),
			"GET /v1/job/job/versions?diffs=true&diff_version=7":             "500 version 7 not found",
			"GET /v1/job/job/versions?diff_version=x":                        `500 Failed to parse value of "diff_version" (x) as a uint64: strconv.ParseUint: parsing "x": invalid syntax`,
			"GET /v1/job/job/versions?diffs=true&diff_tag=x":                 `500 tag "x" not found`,
			"GET /v1/job/job/submission?version=0":                           "404 job source not found",
			"GET /v1/job/job/allocations?resources=x":                        noBool("resources"),
			"GET /v1/job/job/allocations?task_states=x":                      noBool("task_states"),
			"PUT /v1/job/job/tag {}":                                         "404 ",
			"DELETE /v1/job/job/tag":                                         "404 ",
			"PUT /v1/job/job/versions/x/tag {":                               "400 unexpected EOF",
			"DELETE /v1/job/none/versions/x/tag":                             "404 job not found",
			`PUT /v1/job/job/evaluate {"JobID":"x"}`:                         "400 JobID not same as job name",
			"PUT /v1/job/none/evaluate":                                      "500 job not found",
			"PUT /v1/job/cron/evaluate":                                      "500 can't evaluate periodic job",
			"PUT /v1/job/none/periodic/force":                                "500 job not found",
			`PUT /v1/job/job/revert {"JobID":"x"}`:                           "400 Job ID does not match",
			`PUT /v1/job/none/revert {"JobID":"none"}`:                       `500 job "none" not found`,
			"PUT /v1/job/job/revert {}":                                      "400 JobID must be specified",
			`PUT /v1/job/job/stable {"JobID":"x"}`:                           "400 Job ID does not match",
			"PUT /v1/job/job/stable {}":                                      "400 JobID must be specified",
			`PUT /v1/job/job/stable {"JobID":"job","JobVersion":7}`:          `500 job "job" in namespace "default" at version 7 not found`,
			`PUT /v1/job/none/stable {"JobID":"none"}`:                       `500 job "none" in namespace "default" at version 0 not found`,
			`PUT /v1/job/job/dispatch {"JobID":"x"}`:                         "400 Job ID does not match",
			"PUT /v1/job/job/dispatch {":                                     "400 unexpected EOF",
			`PUT /v1/job/job/dispatch {"Priority":-1}`:                       "500 dispatch job priority must be between [1, 100]",
			`PUT /v1/job/job/dispatch {"Priority":101}`:                      "500 dispatch job priority must be between [1, 100]",
			`PUT /v1/job/job/dispatch {"Priority":100}`:                      `500 Specified job "job" is not a parameterized job`,
			"PUT /v1/jobs {}":                                                "400 Job must be specified",
			`PUT /v1/jobs {"Job":{}}`:                                        "400 Job ID hasn't been provided",
			`PUT /v1/job/job {"Job":{"ID":"x"}}`:                             "400 Job ID does not match name",
			"PUT /v1/job/job/plan {}":                                        "400 Job must be specified",
			`PUT /v1/job/job/plan {"Job":{}}`:                                "400 Job must have a valid ID",
			`PUT /v1/job/job/plan {"Job":{"ID":"x"}}`:                        "400 Job ID does not match",
			`PUT /v1/job/job/plan {"Job":{"ID":"job","Type":"x"}}`:           "500 …",
			"PUT /v1/validate/job {}":                                        "400 Job must be specified",
			"PUT /v1/validate/job {":                                         "400 unexpected end of JSON input",
			"PUT /v1/jobs/parse {":                                           "400 unexpected end of JSON input",
			"PUT /v1/validate/job":                                           "400 Request body is empty",
			`PUT /v1/jobs/parse {"JobHCL":"` + strings.Repeat("x", 1<<20):    "400 unexpected end of JSON input",
			"PUT /v1/job/none/scale {}":                                      "400 missing task group name for scaling action",
			`PUT /v1/job/none/scale {"Target":{"Group":"g"}}`:                `404 job "none" not found`,
			`PUT /v1/job/job/scale?namespace=other {"Target":{"Group":"g"}}`: `404 job "job" not found`,
			`PUT /v1/job/job/scale {"Target":{"Job":"x"}}`:                   "400 job ID in payload did not match URL",
			`PUT /v1/job/job/scale {"Target":{"Job":"job"}}`:                 "400 missing task group name for scaling action",
			`PUT /v1/job/job/scale {"Target":{"Group":"x"},"Count":1}`:       `400 …`,
			"DELETE /v1/job/job?purge=x":                                     noBool("purge"),
			"DELETE /v1/job/job?no_shutdown_delay=x":                         noBool("no_shutdown_delay"),
			"DELETE /v1/job/job?run=x":                                       `400 Failed to parse value of "run" (x): it is stop or kill`,
			"DELETE /v1/job/none?run=kill":                                   `200 {"EvalID":"",…`,
			"GET /v1/scaling/policy/none":                                    "404 policy not found",

			`PUT /v1/jobs/parse {"JobHCL":"` + strings.Repeat("x", 1<<20+1) + `"}`: "400 Failed to parse job: it is larger than 1 MiB",

			`PUT /v1/jobs/parse {"JobHCL":"a = ` + strings.Repeat("[", 200_000) + `"}`:      "400 Failed to parse job: input.hcl:1,506: this text is not read, because it could exhaust the machine: it nests too deep here",
			`PUT /v1/jobs/parse {"JobHCL":"a = 1` + strings.Repeat(" == 1", 200_000) + `"}`: "400 Failed to parse job: input.hcl:1,25009: this text is not read, because it could exhaust the machine: it nests too deep here",
			`PUT /v1/jobs/parse {"JobHCL":"` + strings.Repeat("/* ", 200_000) + `"}`:        "400 Failed to parse job: input.hcl:1,600001: this text is not read, because it could exhaust the machine: too many comments are not closed",

			`PUT /v1/job/job/scale {"Target":{"Group":"g"},"Count":2,"JobModifyIndex":9999}`: "500 Enforcing job modify index 9999: job exists with conflicting job modify index: …",
		},
		"allocations": {
			"GET /v1/allocations?resources=x":                                                  noBool("resources"),
			"GET /v1/allocations?task_states=x":                                                noBool("task_states"),
			"GET /v1/allocation/" + alloc[:8]:                                                  "500 alloc lookup failed: index error: UUID must be 36 characters",
			"GET /v1/allocation/" + none + "/services":                                         "404 allocation not found",
			"GET /v1/client/allocation/" + none + "/checks":                                    unknown,
			"GET /v1/client/allocation/" + none + "/stats":                                     unknown,
			"GET /v1/client/allocation/" + none + "/pause":                                     unknown,
			"PUT /v1/client/allocation/" + none + "/pause":                                     unknown,
			"PUT /v1/client/allocation/" + none + "/restart {}":                                unknown,
			"PUT /v1/client/allocation/" + alloc + "/restart {":                                "400 unexpected EOF",
			"PUT /v1/client/allocation/" + none + "/signal {}":                                 unknown,
			"PUT /v1/client/allocation/" + alloc + "/signal {":                                 "400 unexpected EOF",
			"PUT /v1/client/allocation/" + alloc + `/signal {"Signal":"HUP"}`:                  `400 unknown signal "HUP": write "SIGHUP"`,
			"PUT /v1/allocation/" + none + "/stop":                                             "404 allocation not found",
			"PUT /v1/allocation/" + alloc + "/stop?reschedule=x":                               noBool("reschedule"),
			"PUT /v1/allocation/" + alloc + "/stop?no_shutdown_delay=x":                        noBool("no_shutdown_delay"),
			`PUT /v1/client/allocation/` + alloc + `/restart {"TaskName":"t","AllTasks":true}`: "500 task name cannot be set when restarting all tasks",
		},
		"files": {
			"GET /v1/client/fs/ls/" + none:                            unknown,
			"GET /v1/client/fs/stat/" + none + "?path=x":              unknown,
			"GET /v1/client/fs/stat/" + alloc:                         "400 must provide a file name",
			"GET /v1/client/fs/stream/" + none:                        unknown,
			"GET /v1/client/fs/readat/" + none + "?offset=0":          unknown,
			"GET /v1/client/fs/readat/" + alloc:                       `400 error parsing offset: "" is not a number of bytes`,
			"GET /v1/client/fs/readat/" + alloc + "?offset=-1":        `400 error parsing offset: "-1" is not a number of bytes`,
			"GET /v1/client/fs/readat/" + alloc + "?offset=0&limit=x": noNumber("error parsing limit"),
			"GET /v1/client/fs/stream/" + alloc + "?follow=x":         noBool("follow"),
			"GET /v1/client/fs/stream/" + alloc + "?offset=x":         noNumber("error parsing offset"),
		},
		"logs": {
			"GET /v1/client/fs/logs/" + alloc + "?task=t&type=stdout&follow=x": noBool("follow"),
			"GET /v1/client/fs/logs/" + alloc + "?task=t&type=stdout&plain=x":  noBool("plain"),
			"GET /v1/client/fs/logs/" + alloc + "?task=t&type=stdout&offset=x": noNumber("error parsing offset"),
		},
		"evaluations": {
			"GET /v1/evaluation/" + none:               "404 eval not found",
			"GET /v1/evaluations?reverse=x":            noBool("reverse"),
			"GET /v1/evaluations/count?filter=None==1": "400 failed to read result page: …",
		},
		"deployments": {
			"GET /v1/deployment/" + none:         "404 deployment not found",
			"PUT /v1/deployment/unblock/" + none: "500 deployment not found",
			"PUT /v1/deployment/unblock/" + d.ID: "400 can't unblock a deployment that is not blocked: it is running",
			"PUT /v1/deployment/fail/x":          "500 deployment lookup failed: index error: UUID must be 36 characters",
			"PUT /v1/deployment/fail/" + none:    "500 deployment not found",
			"PUT /v1/deployment/promote/" + none + ` {"DeploymentID":"` + none + `","All":true}`: "500 deployment not found",
			"PUT /v1/deployment/promote/" + d.ID + ` {"DeploymentID":"` + d.ID + `"}`:            "400 promote either all groups or a list of groups",
			"PUT /v1/deployment/pause/" + none + ` {"DeploymentID":"` + none + `","Pause":true}`: "500 deployment not found",
			"PUT /v1/deployment/promote/" + d.ID + ` {"All":true}`:                               "400 DeploymentID must be specified",
			"PUT /v1/deployment/allocation-health/" + d.ID + " {}":                               "400 DeploymentID must be specified",
			"PUT /v1/deployment/allocation-health/" + d.ID + ` {"DeploymentID":"` + d.ID + `"}`:  "500 must specify at least one healthy/unhealthy allocation ID",
			"PUT /v1/deployment/pause/" + d.ID + ` {"DeploymentID":"x","Pause":true}`:            "400 Deployment ID does not match",
		},
		"services": {
			"GET /v1/service/x?choose=1":     "400 failed to choose services: Parameter for choose must be in form '<number>|<key>'",
			"GET /v1/service/x?choose=x%7Ck": "400 failed to choose services: Parameter for choose must be in form '<number>|<key>'",
			"GET /v1/service/x?choose=0%7Ck": "400 failed to choose services: Parameter for choose must be in form '<number>|<key>'",
			"GET /v1/service/x?choose=1%7C":  "400 failed to choose services: Parameter for choose must be in form '<number>|<key>'",
			"GET /v1/service/x?choose=1%7Ck": "200 []",
			"GET /v1/service/x":              "200 []",
			"DELETE /v1/service/x":           "400 missing service ID",
			"DELETE /v1/service/x/y":         "404 service registration not found",
		},
		"the cluster": {
			"GET /v1/agent/health?type=x":                   `400 invalid type "x": want client or server`,
			"GET /v1/agent/monitor?plain=x":                 noBool("plain"),
			"GET /v1/agent/monitor?log_json=x":              noBool("log_json"),
			"GET /v1/namespace/none":                        "404 Namespace not found",
			"GET /v1/nodes?resources=x":                     noBool("resources"),
			"GET /v1/nodes?os=x":                            noBool("os"),
			"GET /v1/node/" + none + "/allocations":         "200 []",
			"GET /v1/event/stream?index=x":                  `400 Unable to parse index: strconv.ParseUint: parsing "x": invalid syntax`,
			"PUT /v1/search/fuzzy {":                        "400 unexpected EOF",
			`PUT /v1/search/fuzzy {"Text":"a"}`:             "500 fuzzy search query must be at least 2 characters, got 1",
			`PUT /v1/search {"Context":"x"}`:                "500 context must be one of [allocs jobs nodes node_pools evals deployment plugins volumes scaling_policy vars namespaces host_volumes] or 'all' for all contexts; got \"x\"",
			"PUT /v1/client/gc":                             "501 not supported by taskrun: …",
			"PUT /v1/node/" + none + "/purge":               "404 node not found",
			"PUT /v1/node/" + nodeID + "/evaluate":          "501 not supported by taskrun: …",
			"DELETE /v1/var/a?namespace=*":                  "400 a variable is in one namespace, not in all",
			`PUT /v1/var/a?namespace=* {"Items":{"k":"v"}}`: "400 a variable is in one namespace, not in all",
		},
	}
	for name, calls := range tables {
		t.Run(name, func(t *testing.T) { f.answers(t, calls) })
	}
	if now, _, err := f.client.Deployments().Info(d.ID, nil); err != nil || now.Status != "running" {
		t.Errorf("the deployment is %+v, %v", now, err)
	}
	if a := f.alloc(alloc); a.ClientStatus == "complete" || a.DesiredStatus != "run" || a.TaskStates["t"].Restarts > 0 {
		t.Errorf("the allocation is %+v", a)
	}
	if j, _, err := f.client.Jobs().Info("job", nil); err != nil || *j.Version != 0 || *j.Stop {
		t.Errorf("the job is %+v, %v", j, err)
	}
}

// The enforced index is that of the job that the client has seen.
func TestEnforcedIndex(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	f.evaluation(f.running("t").ID) // from now on, the index is that of the registration
	shown, _, err := f.client.Jobs().Info("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	index, none := *shown.JobModifyIndex, "job %q is not one of this run, which takes no others: start it with taskrun up"
	for name, tt := range map[string]struct {
		id    string
		index uint64
		want  string
	}{
		"another":         {"job", index + 1, fmt.Sprintf("Enforcing job modify index %d: job exists with conflicting job modify index: %d", index+1, index)},
		"none":            {"job", 0, "Enforcing job modify index 0: job already exists"},
		"of no job":       {"none", 7, "Enforcing job modify index 7: job does not exist"},
		"none of no job":  {"none", 0, fmt.Sprintf(none, "none")},
		"that of the job": {"job", index, ""},
	} {
		job := newJob(tt.id, "service", newTask("t", "run_for", "1h"))
		_, _, err := f.client.Jobs().EnforceRegister(job, tt.index, nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
