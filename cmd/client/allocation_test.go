package client

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Ports are those of the allocation and of the task, and are asked for once for each
// allocation.
func TestPorts(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", map[string]any{
		"/v1/allocation/1": &api.Allocation{AllocatedResources: &api.AllocatedResources{
			Shared: api.AllocatedSharedResources{Ports: []api.PortMapping{{Label: "http", Value: 8080, To: 80, HostIP: "10.0.0.1"}}},
			Tasks: map[string]*api.AllocatedTaskResources{"a": {Networks: []*api.NetworkResource{{
				IP: "10.0.0.2", ReservedPorts: []api.Port{{Label: "static", Value: 1}}, DynamicPorts: []api.Port{{Label: "dynamic", Value: 2, To: 3}},
			}}}},
		}},
		"/v1/allocation/2": &api.Allocation{}, // not placed
	})
	task := func(id, name string) *Task {
		return &Task{Server: s, Name: name, Alloc: &api.AllocationListStub{ID: id, Name: "j.g[0]"}}
	}
	a, b := task("1", "a"), task("1", "b")
	got, err := Ports(t.Context(), []*Task{a, b, task("2", "a")})
	want := []Port{
		{a, "http", "10.0.0.1", 8080, 80},
		{a, "static", "10.0.0.2", 1, 0},
		{a, "dynamic", "10.0.0.2", 2, 3},
		{b, "http", "10.0.0.1", 8080, 80},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v, error %v", got, want, err)
	}
	if got, err := Ports(t.Context(), []*Task{a, task("3", "a")}); got != nil || !Missing(err) {
		t.Errorf("of an unknown allocation: %v, error %v", got, err)
	}
}

// An address is one that can be dialed.
func TestAddressOfAPort(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"": "localhost:80", "0.0.0.0": "localhost:80", "::": "localhost:80", "10.0.0.1": "10.0.0.1:80", "::1": "[::1]:80", "node": "node:80",
	} {
		if got := (Port{Host: host, Port: 80}).Address(); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

func TestMemoryOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		used *api.MemoryStats
		want uint64
	}{{nil, 0}, {&api.MemoryStats{RSS: 2, Usage: 1}, 2}, {&api.MemoryStats{RSS: 1, Usage: 3}, 3}} {
		if got := MemoryOf(&api.ResourceUsage{MemoryStats: tt.used}); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.used, got, tt.want)
		}
	}
}

// The services and the checks of a task are those of its job and its allocation.
func TestServicesAndChecksOfATask(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", map[string]any{
		"/v1/job/j/services":             []*api.ServiceRegistration{{ServiceName: "web"}},
		"/v1/client/allocation/1/checks": api.AllocCheckStatuses{"c": {Check: "alive"}},
	})
	known := &Task{Server: s, Alloc: &api.AllocationListStub{ID: "1", JobID: "j"}}
	unknown := &Task{Server: s, Alloc: &api.AllocationListStub{ID: "2", JobID: "k"}}
	if list, err := known.Services(t.Context()); err != nil || len(list) != 1 || list[0].ServiceName != "web" {
		t.Errorf("services %v, error %v", list, err)
	}
	if found, err := known.Checks(t.Context()); err != nil || found["c"].Check != "alive" {
		t.Errorf("checks %v, error %v", found, err)
	}
	if _, err := unknown.Services(t.Context()); !Missing(err) {
		t.Errorf("services of an unknown job: error %v", err)
	}
	if _, err := unknown.Checks(t.Context()); !Missing(err) {
		t.Errorf("checks of an unknown allocation: error %v", err)
	}
}

// The values of variables are those of all namespaces.
func TestVariableValues(t *testing.T) {
	t.Parallel()
	answers := map[string]any{
		"/v1/vars":  []*api.VariableMetadata{{Path: "a", Namespace: "ops"}, {Path: "b"}},
		"/v1/var/a": &api.Variable{Items: api.VariableItems{"k": "1"}}, "/v1/var/b": &api.Variable{Items: api.VariableItems{"k": "2"}},
	}
	values, err := cluster(t, "", answers).VariableValues(t.Context())
	if err != nil || !slices.Equal(values, []string{"1", "2"}) {
		t.Errorf("%q, error %v", values, err)
	}
	delete(answers, "/v1/var/b")
	for _, known := range []map[string]any{answers, {}} {
		if values, err := cluster(t, "", known).VariableValues(t.Context()); values != nil || err == nil {
			t.Errorf("%q, error %v", values, err)
		}
	}
}

// A task that events name has the namespace of its job, or else that of the server.
func TestTaskOfEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, job, namespace, id string }{
		{"", "j", "default", "j"},
		{"team", "j", "team", "j"},
		{api.AllNamespacesNamespace, event.JobKey("ops", "j"), "ops", "j"},
	} {
		got := (&Server{namespace: tt.server}).Task(&event.Alloc{ID: "1", Name: "j.g[3]", Job: tt.job, Group: "g"}, "t")
		want := &api.AllocationListStub{ID: "1", Name: "j.g[3]", JobID: tt.id, Namespace: tt.namespace, TaskGroup: "g"}
		if diff := cmp.Diff(want, got.Alloc); diff != "" || got.Index != 3 || got.Name != "t" || got.State == nil {
			t.Errorf("%q: %+v (-want +got):\n%s", tt.server, got, diff)
		}
	}
}
