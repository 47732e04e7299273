package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// sorted checks that a list is sorted by a key, and reverses on demand.
func (f *fixture) sorted(path string, key func(map[string]any) string) {
	f.Helper()
	for _, reverse := range []bool{false, true} {
		var keys []string
		for _, v := range get[[]map[string]any](f, fmt.Sprint(path, "reverse=", reverse)) {
			keys = append(keys, key(v))
		}
		want := slices.Sorted(slices.Values(keys))
		if reverse {
			slices.Reverse(want)
		}
		if len(keys) < 2 || !slices.Equal(keys, want) {
			f.Errorf("%sreverse=%v: %q", path, reverse, keys)
		}
	}
}

// Deployments are listed from the oldest to the newest one.
func TestOrderOfDeployments(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for i := range 8 { // by chance, their IDs are in the same order once in 40,000 runs
		f.submit(newJob(fmt.Sprint("job", i), "service", newTask("t", "run_for", "1h")), nil)
	}
	follow(f, "/v1/deployments", func(list []any) bool { return len(list) == 8 })
	f.sorted("/v1/deployments?", func(v map[string]any) string { return fmt.Sprintf("%09.0f", v["CreateIndex"]) })
}

// Lists are sorted by ID if a prefix is given, and by age otherwise, and in
// reverse order on request.
func TestOrderOfLists(t *testing.T) {
	t.Parallel()
	f := servePages(t)
	follow(f, "/v1/evaluations", func(list []any) bool { return len(list) == 2 })
	id := func(v map[string]any) string { return v["ID"].(string) }
	age := func(v map[string]any) string { return fmt.Sprintf("%09.0f", v["CreateIndex"]) }
	for _, path := range []string{"/v1/allocations", "/v1/evaluations"} {
		f.sorted(path+"?", age)
		first := get[[]map[string]any](f, path)[0]["ID"].(string)
		var all []string
		for _, v := range get[[]map[string]any](f, path+"?prefix="+strings.ToUpper(first[:2])) {
			all = append(all, id(v))
		}
		if !slices.Contains(all, first) || !slices.IsSorted(all) {
			t.Errorf("%s by prefix: %q", path, all)
		}
	}
	f.sorted("/v1/jobs?", id)
	f.sorted("/v1/node/pools?", func(v map[string]any) string { return v["Name"].(string) })
	for query, want := range map[string]int{"job=a": 1, "job=none": 0, "status=complete": 2, "status=pending": 0, "job=a&status=complete": 1} {
		if list := get[[]any](f, "/v1/evaluations?"+query); len(list) != want {
			t.Errorf("evaluations with %s: %d, want %d", query, len(list), want)
		}
	}
	for query, want := range map[string]string{"": "", "meta=false": "", "meta=true": "red"} {
		if list := get[[]*api.JobListStub](f, "/v1/jobs?"+query); list[0].Meta["team"] != want || list[1].Meta != nil {
			t.Errorf("jobs with %q: %+v", query, list[0].Meta)
		}
	}
	if list := get[[]*api.NodeListStub](f, "/v1/nodes?resources=true"); list[0].NodeResources == nil || list[0].ReservedResources == nil {
		t.Errorf("nodes with resources: %+v", list[0])
	}
	for _, path := range []string{"/v1/nodes?prefix=ff", "/v1/node/pools?prefix=x", "/v1/deployments?prefix=00000000-0000"} {
		if list := get[[]any](f, path); list == nil || len(list) != 0 {
			t.Errorf("%s: %v", path, list)
		}
	}
	allocs := get[[]*api.Allocation](f, "/v1/node/"+nodeID+"/allocations")
	if len(allocs) != 2 || allocs[0].Job == nil || *allocs[0].Job.ID != allocs[0].JobID {
		t.Errorf("of the node: %+v", allocs)
	}
	pretty := readAll(t, f.do("GET", "/v1/regions?pretty", nil).Body)
	if plain := readAll(t, f.do("GET", "/v1/regions?pretty=0", nil).Body); pretty != "[\n    \"global\"\n]" || plain != `["global"]` {
		t.Errorf("pretty %q, not pretty %q", pretty, plain)
	}
}

// Allocations and evaluations with the same prefix are listed by their IDs.
func TestPrefixesOfIDs(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Count = new(257) // two of them have the same first byte
	f := serve(t, job)
	f.running("t")
	for range 257 {
		f.answers(t, map[string]string{"PUT /v1/job/job/evaluate": "200 …"})
	}
	for _, path := range []string{"/v1/allocations", "/v1/evaluations"} {
		byPrefix := map[string]int{}
		all := follow(f, path, func(list []struct{ ID string }) bool { return len(list) >= 257 })
		for _, v := range all {
			byPrefix[v.ID[:2]]++
		}
		for prefix, n := range byPrefix {
			if n > 1 {
				f.sorted(path+"?prefix="+strings.ToUpper(prefix)+"&", func(v map[string]any) string { return v["ID"].(string) })
			}
		}
	}
}

// Data about ended allocations is kept as long as they are.
func TestManyAllocations(t *testing.T) {
	t.Parallel()
	parent := newJob("parent", "batch", newTask("t"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, parent)
	const many = 70 // after 64, forgotten ones are dropped
	for range many {
		if _, _, err := f.client.Jobs().Dispatch("parent", nil, nil, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	follow(f, "/v1/allocations", func(list []*api.AllocationListStub) bool {
		return len(list) == many && !slices.ContainsFunc(list, func(a *api.AllocationListStub) bool { return a.ClientStatus != "complete" || a.CreateIndex <= 1 })
	})
}
