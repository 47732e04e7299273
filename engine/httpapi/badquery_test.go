package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// A list with an invalid filter, page or order is refused.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("web", "service", newTask("t", "run_for", "1h")))
	id := f.running("t").ID
	for _, path := range []string{
		"jobs", "allocations", "evaluations", "deployments", "nodes", "vars", "namespaces", "job/web/allocations", "node/" + nodeID + "/allocations",
	} {
		for _, query := range []string{"index=x", "wait=x"} {
			if path == "namespaces" { // there is exactly one
				continue
			}
			if a := f.do("GET", "/v1/"+path+"?"+query, nil); a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s?%s: %d", path, query, a.StatusCode)
			}
		}
	}
	for _, path := range []string{"jobs", "allocations", "evaluations", "nodes", "vars", "evaluations/count"} {
		if a := f.do("GET", "/v1/"+path+"?filter=ID+%3D%3D+(", nil); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with a bad filter: %d", path, a.StatusCode)
		}
	}
	for _, path := range []string{"jobs", "allocations", "evaluations", "nodes", "vars"} {
		if a := f.do("GET", "/v1/"+path+"?per_page=x", nil); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with a bad page: %d", path, a.StatusCode)
		}
	}
	// Dashes and case do not matter in a prefix.
	for _, prefix := range []string{id[:8], strings.ToUpper(id[:11]), strings.ReplaceAll(id, "-", "")} {
		a := f.do("GET", "/v1/allocations?prefix="+prefix, nil)
		if body := readAll(t, a.Body); a.StatusCode != http.StatusOK || !strings.Contains(body, id) {
			t.Errorf("prefix %s: %d %s", prefix, a.StatusCode, body)
		}
	}
}

// An invalid variable is refused, and not stored.
func TestBadVariables(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for path, body := range map[string]string{
		"a%20b":            `{"Items":{"k":"v"}}`,
		"nomad":            `{"Items":{"k":"v"}}`,
		"large":            `{"Items":{"k":"` + strings.Repeat("x", 70<<10) + `"}}`,
		"nomad/other/path": `{"Items":{"k":"v"}}`,
	} {
		if a := f.do("PUT", "/v1/var/"+path, strings.NewReader(body)); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, a.StatusCode, readAll(t, a.Body))
		}
	}
	if n := len(f.engine.Variables().All()); n != 0 {
		t.Errorf("%d variables are there", n)
	}
}
