package httpapi_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/engine/httpapi"
)

// A fuzzy search finds the parts of jobs, at most twenty of each kind.
func TestFuzzySearch(t *testing.T) {
	t.Parallel()
	task := newTask("server", "run_for", "1h")
	task.Config["command"], task.Config["image"] = "/bin/found", "found:1"
	task.Services = []*api.Service{{Name: "found-of-task", Provider: "nomad"}}
	job := newJob("web", "service", task)
	job.TaskGroups[0].Scaling = &api.ScalingPolicy{Min: new(int64(0)), Max: new(int64(3)), Type: "horizontal"}
	job.Canonicalize()
	job.TaskGroups[0].Name = new("group")
	other := newJob("other", "service", newTask("found", "run_for", "1h"))
	other.Namespace = new("prod")
	f := serveWith(t, func(c *httpapi.Config) { c.Node.Name, c.DataDir = "found-node", t.TempDir() }, job, other)
	f.running("found")
	for i := range 22 {
		if _, _, err := f.client.Variables().Update(&api.Variable{Path: fmt.Sprintf("found/%02d", i), Items: api.VariableItems{"k": "v"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	search := func(text string, kind contexts.Context, namespace string) *api.FuzzySearchResponse {
		answer, meta, err := f.client.Search().FuzzySearch(text, kind, &api.QueryOptions{Namespace: namespace})
		if err != nil || meta.LastIndex == 0 {
			t.Fatal(err, meta)
		}
		return answer
	}
	found := search("FOUND", contexts.All, "")
	for kind, want := range map[contexts.Context][]api.FuzzyMatch{
		contexts.Commands: {{ID: "/bin/found", Scope: []string{"default", "web", "group", "server"}}},
		contexts.Images:   {{ID: "found:1", Scope: []string{"default", "web", "group", "server"}}},
		contexts.Services: {{ID: "found-of-task", Scope: []string{"default", "web", "group", "server"}}},
		contexts.Tasks:    {{ID: "found", Scope: []string{"prod", "other", "g"}}},
		contexts.Nodes:    {{ID: "found-node", Scope: []string{nodeID}}},
	} {
		if diff := cmp.Diff(want, found.Matches[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if scope := found.Matches[contexts.Variables][0].Scope; !slices.Equal(scope, []string{"default", "found/00"}) {
		t.Errorf("the scope of a variable is %q", scope)
	}
	if n := len(found.Matches[contexts.Variables]); n != 20 || !found.Truncations[contexts.Variables] || found.Truncations[contexts.Tasks] {
		t.Errorf("%d variables, truncated %v", n, found.Truncations)
	}
	if _, ok := found.Truncations[contexts.Tasks]; !ok {
		t.Errorf("it is not said of which kinds there are more: %v", found.Truncations)
	}
	for kind, name := range map[contexts.Context]string{contexts.Jobs: "web", contexts.Groups: "group"} {
		if diff := cmp.Diff([]api.FuzzyMatch{{ID: name, Scope: []string{"default", "web"}}}, search(name, contexts.All, "default").Matches[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if found := search("found", contexts.All, "default"); len(found.Matches[contexts.Tasks]) != 0 {
		t.Errorf("in another namespace: %v", found.Matches)
	}
	policy := get[[]*api.ScalingPolicyListStub](f, "/v1/scaling/policies")[0].ID
	f.ask("PUT", "/v1/search/fuzzy", `{"Text":"f"}`, 500, "fuzzy search query must be at least 2 characters, got 1")
	if found := search("fo", contexts.All, "prod"); len(found.Matches[contexts.Tasks]) != 1 {
		t.Errorf("by two characters: %v", found.Matches)
	}
	if found := search(policy[:5], contexts.All, ""); len(found.Matches[contexts.ScalingPolicies]) != 1 {
		t.Errorf("by the ID of a policy: %v", found.Matches)
	}
	if found := search(policy[1:6], contexts.ScalingPolicies, ""); len(found.Matches) != 0 {
		t.Errorf("by a part of the ID: %v", found.Matches)
	}
	alloc := f.engine.Allocs()[0]
	if found := search(alloc.Name, contexts.Allocs, "*"); !cmp.Equal(found.Matches[contexts.Allocs], []api.FuzzyMatch{{ID: alloc.Name, Scope: []string{*alloc.Job.Namespace, alloc.ID}}}) {
		t.Errorf("by its name: %v", found.Matches)
	}
	for prefix, want := range map[string]int{"found/": 20, "found/0": 10, "found/1": 10, "found/2": 2} {
		answer, _, err := f.client.Search().PrefixSearch(prefix, contexts.Variables, nil)
		if err != nil || len(answer.Matches[contexts.Variables]) != want || answer.Truncations[contexts.Variables] != (want == 20) {
			t.Errorf("prefix %s: %+v, %v", prefix, answer, err)
		}
	}
	for _, path := range []string{"found/20", "found/21"} { // as many are left as there may be
		if _, err := f.client.Variables().Delete(path, nil); err != nil {
			t.Fatal(err)
		}
	}
	if found := search("found/", contexts.Variables, ""); len(found.Matches[contexts.Variables]) != 20 || found.Truncations[contexts.Variables] {
		t.Errorf("twenty: %d, truncated %v", len(found.Matches[contexts.Variables]), found.Truncations)
	}
	if found, _, err := f.client.Search().PrefixSearch("found/", contexts.Variables, nil); err != nil || len(found.Matches[contexts.Variables]) != 20 || found.Truncations[contexts.Variables] {
		t.Errorf("twenty by a prefix: %+v, %v", found, err)
	}
	volume, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "v", PluginID: "mkdir"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, _, err := f.client.Search().PrefixSearch(volume.Volume.ID[:9], contexts.HostVolumes, nil); err != nil || !cmp.Equal(answer.Matches[contexts.HostVolumes], []string{volume.Volume.ID}) {
		t.Errorf("by the ID of a volume: %+v, %v", answer, err)
	}
	answer, meta, err := f.client.Search().PrefixSearch(policy, contexts.ScalingPolicies, nil)
	if meta.LastIndex == 0 {
		t.Error("the answer has no index")
	}
	if err != nil || !cmp.Equal(answer.Matches[contexts.ScalingPolicies], []string{policy}) {
		t.Errorf("%+v, %v", answer, err)
	}
}
