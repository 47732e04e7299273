package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/workload"
)

// twins registers a job of one name in the default namespace and in "prod",
// which differ in their priority.
func twins(t *testing.T) *fixture {
	t.Helper()
	f := serveResident(t)
	if _, err := f.client.Namespaces().Register(&api.Namespace{Name: "prod"}, nil); err != nil {
		t.Fatal(err)
	}
	for namespace, priority := range map[string]int{"default": 10, "prod": 20} {
		job := newJob("web", "service", newTask(namespace, "run_for", "1h"))
		job.Priority = &priority
		job.TaskGroups[0].Scaling = &api.ScalingPolicy{Min: new(int64(1)), Max: new(int64(9)), Type: "horizontal"}
		if _, _, err := f.client.Jobs().RegisterOpts(job, &api.RegisterOptions{Submission: &api.JobSubmission{Source: namespace}}, &api.WriteOptions{Namespace: namespace}); err != nil {
			t.Fatal(err)
		}
		f.running(namespace)
	}
	return f
}

// Jobs of one name in two namespaces have nothing in common.
func TestJobsOfOneNameInTwoNamespaces(t *testing.T) {
	t.Parallel()
	f := twins(t)
	for namespace, priority := range map[string]int{"default": 10, "prod": 20} {
		q := &api.QueryOptions{Namespace: namespace}
		j, _, err := f.client.Jobs().Info("web", q)
		if err != nil || *j.Priority != priority || *j.Namespace != namespace || *j.ID != "web" || *j.Version != 0 {
			t.Errorf("%s: %+v, %v", namespace, j, err)
		}
		if s, _, err := f.client.Jobs().Submission("web", 0, q); err != nil || s.Source != namespace {
			t.Errorf("%s: source %+v, %v", namespace, s, err)
		}
		allocs, _, err := f.client.Jobs().Allocations("web", false, q)
		if err != nil || len(allocs) != 1 || allocs[0].Namespace != namespace || allocs[0].JobID != "web" || allocs[0].TaskStates[namespace] == nil {
			t.Errorf("%s: allocations %+v, %v", namespace, allocs, err)
		}
		evals, _, err := f.client.Jobs().Evaluations("web", q)
		if err != nil || len(evals) != 1 || evals[0].Namespace != namespace || evals[0].JobID != "web" || evals[0].Priority != priority {
			t.Errorf("%s: evaluations %+v, %v", namespace, evals, err)
		}
		deployments, _, err := f.client.Jobs().Deployments("web", false, q)
		if err != nil || len(deployments) != 1 || deployments[0].Namespace != namespace || deployments[0].JobID != "web" {
			t.Errorf("%s: deployments %+v, %v", namespace, deployments, err)
		}
		if _, _, err := f.client.Deployments().Info(deployments[0].ID, nil); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
		policies, _, err := f.client.Scaling().ListPolicies(q)
		if err != nil || len(policies) != 1 || policies[0].Target["Namespace"] != namespace || policies[0].Target["Job"] != "web" {
			t.Errorf("%s: policies %+v, %v", namespace, policies, err)
		}
	}
	lists := []string{"/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/deployments", "/v1/scaling/policies"}
	for _, path := range lists {
		for query, want := range map[string]int{"": 1, "?namespace=prod": 1, "?namespace=*": 2, "?namespace=none": 0} {
			if list := get[[]map[string]any](f, path+query); len(list) != want {
				t.Errorf("%s%s: %d objects, want %d", path, query, len(list), want)
			}
		}
	}
	var pages []string
	for token := ""; len(pages) < 3; {
		page, meta, err := f.client.Jobs().List(&api.QueryOptions{Namespace: "*", PerPage: 1, NextToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page {
			pages = append(pages, j.Namespace)
		}
		if token = meta.NextToken; token == "" {
			break
		}
	}
	if !slices.Equal(pages, []string{"default", "prod"}) {
		t.Errorf("pages of %q", pages)
	}

	if _, _, err := f.client.Jobs().Deregister("web", true, &api.WriteOptions{Namespace: "prod"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.client.Jobs().Info("web", &api.QueryOptions{Namespace: "prod"}); err == nil {
		t.Error("the purged one is still there")
	}
	if j, _, err := f.client.Jobs().Info("web", nil); err != nil || *j.Status != "running" || *j.Stop {
		t.Errorf("the other one: %+v, %v", j, err)
	}
}

// The namespace of the query is that of the job, then that of the body, then the
// job's own. It must exist, and allow the job's drivers.
func TestNamespaceOfRegistrations(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for _, n := range []*api.Namespace{{Name: "a"}, {Name: "b"}, {Name: "strict", Capabilities: &api.NamespaceCapabilities{DisabledTaskDrivers: []string{"mock_driver"}}}} {
		if _, err := f.client.Namespaces().Register(n, nil); err != nil {
			t.Fatal(err)
		}
	}
	job := func(namespace string) *api.Job {
		j := newJob("job", "service", newTask("t", "run_for", "1h"))
		j.Namespace = &namespace
		return j
	}
	for _, c := range []struct{ query, own, want string }{{"a", "b", "a"}, {"", "b", "b"}, {"", "", "default"}} {
		if _, _, err := f.client.Jobs().Register(job(c.own), &api.WriteOptions{Namespace: c.query}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if j, _, err := f.client.Jobs().Info("job", &api.QueryOptions{Namespace: c.want}); err != nil || *j.Version != 0 {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for namespace, want := range map[string]string{
		"none":   `500 (job "job" is in nonexistent namespace "none")`,
		"*":      `500 (job "job" is in nonexistent namespace "*")`,
		"strict": `500 (used task driver "mock_driver" is not allowed in namespace "strict")`,
	} {
		if _, _, err := f.client.Jobs().Register(job("a"), &api.WriteOptions{Namespace: namespace}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", namespace, err, want)
		}
		valid, _, err := f.client.Jobs().Validate(job("a"), &api.WriteOptions{Namespace: namespace})
		if err != nil || len(valid.ValidationErrors) != 1 || want != "500 ("+valid.ValidationErrors[0]+")" {
			t.Errorf("validated in %s: %+v, %v, want %s", namespace, valid, err, want)
		}
	}
	if valid, _, err := f.client.Jobs().Validate(job("b"), nil); err != nil || valid.Error != "" {
		t.Errorf("validated in b: %+v, %v", valid, err)
	}
	pool := job("a")
	pool.NodePool = new("none")
	if _, _, err := f.client.Jobs().Register(pool, nil); err == nil || !strings.Contains(err.Error(), `job "job" is in nonexistent node pool "none"`) {
		t.Errorf("in no pool: %v", err)
	}
	if jobs, _, err := f.client.Jobs().List(&api.QueryOptions{Namespace: "*"}); err != nil || len(jobs) != 3 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// A task can read its own job, and no job of the same name in another namespace.
func TestTasksAndNamespaces(t *testing.T) {
	t.Parallel()
	f := twins(t)
	alloc := func(namespace string) string {
		list, _, err := f.client.Jobs().Allocations("web", false, &api.QueryOptions{Namespace: namespace})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].ID
	}
	a := serveTasks(t, f)
	job, _, err := f.client.Jobs().Info("web", &api.QueryOptions{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.keys.Sign(workload.NewClaims(workload.Task{Region: "global", Alloc: alloc("prod"), Group: "g", Name: "prod", Job: job}, &api.WorkloadIdentity{}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/v1/job/web?namespace=prod":                             200,
		"/v1/job/web":                                            403,
		"/v1/job/web?namespace=default":                          403,
		"/v1/allocation/" + alloc("prod"):                        200,
		"/v1/allocation/" + alloc("default"):                     403,
		"/v1/allocation/" + alloc("default") + "?namespace=prod": 403,
		"/v1/services?namespace=prod":                            200,
		"/v1/services":                                           403,
		"/v1/services?namespace=*":                               403,
	} {
		if got, body := a.ask("GET", path, http.Header{"X-Nomad-Token": {token}}); got != want {
			t.Errorf("%s: %d %.100s, want %d", path, got, body, want)
		}
	}
}

// The evaluations of a run are in the namespace of its job.
func TestNamespaceOfAnEvaluation(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.Namespace = new("prod")
	f := serve(t, job)
	f.running("t")
	list := get[[]*api.Evaluation](f, "/v1/evaluations?namespace=prod")
	if len(list) != 1 || list[0].Namespace != "prod" || list[0].JobID != "job" {
		t.Errorf("evaluations: %+v", list)
	}
}
