package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// servePages runs three jobs, one of which can be dispatched.
func servePages(t *testing.T) *fixture {
	t.Helper()
	jobs := []*api.Job{
		newJob("a", "batch", newTask("ta", "run_for", "1h")),
		newJob("b", "service", newTask("tb", "run_for", "1h")),
		newJob("c", "batch", newTask("tc", "run_for", "1h")),
	}
	jobs[0].Meta = map[string]string{"team": "red"}
	jobs[2].ParameterizedJob = &api.ParameterizedJobConfig{Payload: "optional"}
	jobs[2].Canonicalize()
	f := serve(t, jobs...)
	waiting := map[string]bool{"ta": true, "tb": true}
	for len(waiting) > 0 {
		f.until(func(e event.Event) bool {
			s, ok := e.Body.(event.TaskState)
			if !ok || s.State != "running" || !waiting[e.Task] {
				return false
			}
			delete(waiting, e.Task)
			return true
		})
	}
	return f
}

func ids(jobs []*api.JobListStub) string {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return strings.Join(ids, " ")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	for filter, want := range map[string]string{
		`ID == "b"`:       "b",
		`Type != "batch"`: "b",
		`ParentID == "" and ParameterizedJob is not nil`: "c", // used by the nomad command for dispatch
		`Periodic is not nil`:                            "",  // and for periodic force
		`Meta.team == "red"`:                             "a",
		`Meta.team is not empty`:                         "a",
		`"ta" in TaskGroups.0.Tasks.0.Name`:              "a",
		`ID matches "^[ac]$" and not (ID == "c")`:        "a",
		`SubmitTime != 0 and VersionTag is nil`:          "a b c",
		`Stop == false`:                                  "a b c",
	} {
		jobs, _, err := f.client.Jobs().List(&api.QueryOptions{Filter: filter})
		if got := ids(jobs); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", filter, got, err, want)
		}
	}
	allocs, _, err := f.client.Allocations().List(&api.QueryOptions{Filter: `ClientStatus == "running" and JobID == "a"`})
	if err != nil || len(allocs) != 1 || allocs[0].JobID != "a" {
		t.Errorf("%v, %v", allocs, err)
	}
	evaluations, _, err := f.client.Evaluations().List(&api.QueryOptions{Filter: `JobID == "b"`})
	if err != nil || len(evaluations) != 1 {
		t.Errorf("%v, %v", evaluations, err)
	}
	for filter, want := range map[string]int{
		`Attributes["driver.mock_driver"] == "1"`: 1, `Attributes["driver.mock_driver"] != "1"`: 0, `Status == "ready" and Meta is empty`: 1,
	} {
		if nodes, _, err := f.client.Nodes().List(&api.QueryOptions{Filter: filter}); err != nil || len(nodes) != want {
			t.Errorf("nodes with %s: %v, %v; want %d", filter, nodes, err, want)
		}
	}
	for _, path := range []string{"one", "two"} {
		if _, _, err := f.client.Variables().Create(&api.Variable{Path: path, Items: api.VariableItems{"k": "v"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	named, _, err := f.client.Variables().List(&api.QueryOptions{Filter: `VariableMetadata.Path == "two"`})
	if err != nil || len(named) != 1 || named[0].Path != "two" || named[0].CreateIndex == 0 {
		t.Errorf("a variable by its path: %v, %v", named, err)
	}
}

// A filter that is invalid, or would take too long to parse, is refused at
// once.
func TestRefusedFilters(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	for name, filter := range map[string]string{
		"nonsense":             "(",
		"an unknown field":     "Nothing == 1",
		"a wrong type":         "Priority == high",
		"a wrong pattern":      `ID matches "("`,
		"deep":                 strings.Repeat("(", 2000) + "ID == a" + strings.Repeat(")", 2000),
		"so deep as to double": strings.Repeat("(", 40) + "ID == a" + strings.Repeat(")", 40),
		"long":                 strings.Repeat("ID == a or ", 1000) + "ID == a",
	} {
		began := time.Now()
		resp := f.do("GET", "/v1/jobs?filter="+url.QueryEscape(filter), nil)
		body := readAll(t, resp.Body)
		took := time.Since(began)
		t.Log(name, took, len(body))
		if resp.StatusCode != 400 || !strings.HasPrefix(body, "failed to ") || took > patience/2 {
			t.Errorf("%s: %d %.200q after %v", name, resp.StatusCode, body, took)
		}
	}
}

// A list is the same whether it is read at once or page by page, in either
// order, sorted by any key.
func TestPages(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	for _, path := range []string{"jobs", "allocations", "evaluations", "evaluations?prefix=", "nodes", "namespaces", "vars"} {
		for _, reverse := range []bool{false, true} {
			read := func(perPage int32) (got []string) {
				for token := ""; ; {
					var list []map[string]any
					meta, err := f.client.Raw().Query("/v1/"+path, &list, &api.QueryOptions{PerPage: perPage, NextToken: token, Reverse: reverse})
					if err != nil {
						t.Fatal(path, err)
					}
					if perPage > 0 && len(list) > int(perPage) {
						t.Errorf("%s: %d on a page of %d", path, len(list), perPage)
					}
					for _, object := range list {
						got = append(got, fmt.Sprint(object["ID"], object["Name"]))
					}
					if token = meta.NextToken; token == "" {
						return got
					}
				}
			}
			if all, paged := read(0), read(1); !slices.Equal(all, paged) {
				t.Errorf("%s, reverse %v: at once %q, paged %q", path, reverse, all, paged)
			}
		}
	}
}

// The page after a deleted object starts with the next one.
func TestPageAfterADeletedObject(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	jobs, _, err := f.client.Jobs().List(&api.QueryOptions{NextToken: "default.aa"})
	if got := ids(jobs); err != nil || got != "b c" {
		t.Errorf("%q, %v", got, err)
	}
}
