package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A path with empty or dotted elements leads to the clean one, with the query.
// An escaped slash belongs to an ID.
func TestRedirects(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("a", "service", newTask("t", "run_for", "1h")))
	f.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]string{
		"/v1//jobs?prefix=a&meta=true": "/v1/jobs?prefix=a&meta=true",
		"//v1/jobs":                    "/v1/jobs",
		"//evil.example/":              "/evil.example/",
		"/v1/./job/x/../a":             "/v1/job/a",
		"/v1/job//a":                   "/v1/job/a",
	} {
		if got := f.do("GET", path, nil); got.StatusCode != 307 || got.Header.Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", path, got.StatusCode, got.Header.Get("Location"), want)
		}
	}
	for path, want := range map[string]int{"/v1/job/a": 200, "/v1/job/a%2F%2Fb": 404, "/v1/job/%2E%2E%2Fa": 404} {
		if got := f.do("GET", path, nil); got.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, got.StatusCode, want)
		}
	}
	// The client sends the body again. The job of the body is not that of the path.
	if _, _, err := f.client.Jobs().Scale("", "g", new(1), "", false, nil, nil); err == nil || !strings.Contains(err.Error(), "400 (Job must be specified)") {
		t.Errorf("no ID: %v", err)
	}
}

// POST means what PUT means.
func TestPost(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	f.running("t")
	for path, body := range map[string]string{
		"/v1/jobs/parse":             `{"JobHCL":"job \"x\" {}"}`,
		"/v1/job/job/plan":           `{"Job":{"ID":"job"}}`,
		"/v1/job/job/evaluate":       "",
		"/v1/job/job/versions/v/tag": `{"Latest":true}`,
		"/v1/search":                 `{"Prefix":"j"}`,
	} {
		if got := f.do("POST", path, strings.NewReader(body)); got.StatusCode == 405 || got.StatusCode == 404 {
			t.Errorf("%s: %d %s", path, got.StatusCode, readAll(t, got.Body))
		}
	}
	if got := f.do("POST", "/v1/jobs/parse", strings.NewReader(`{"JobHCL":"job \"x\" {}"}`)); got.StatusCode != 200 {
		t.Errorf("parse: %d", got.StatusCode)
	}
	if got := f.do("POST", "/v1/job/job/evaluate", nil); got.StatusCode != 200 || got.Header.Get("X-Nomad-Index") == "" {
		t.Errorf("evaluate: %d", got.StatusCode)
	}
}

// The namespace of a request that names an object by its ID does not matter.
func TestObjectsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	alloc := f.running("t")
	q := &api.QueryOptions{Namespace: "other"}
	if _, _, err := f.client.Allocations().Info(alloc.ID, q); err != nil {
		t.Error(err)
	}
	if list, _, err := f.client.Allocations().List(q); err != nil || len(list) != 0 {
		t.Errorf("%d allocations, %v", len(list), err)
	}
	if _, _, err := f.client.Evaluations().Info(f.evaluation(alloc.ID), q); err != nil {
		t.Error(err)
	}
	if list, _, err := f.client.Evaluations().List(q); err != nil || len(list) != 0 {
		t.Errorf("%d evaluations, %v", len(list), err)
	}
}
