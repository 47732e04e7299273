package update

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// Canaries have the canary tags and meta of services, and the group does not
// change.
func TestCanaryGroup(t *testing.T) {
	t.Parallel()
	services := func() []*api.Service {
		return []*api.Service{
			{Name: "both", Tags: []string{"live"}, CanaryTags: []string{"canary"}, Meta: map[string]string{"k": "live"}, CanaryMeta: map[string]string{"k": "canary"}},
			{Name: "none", Tags: []string{"live"}, Meta: map[string]string{"k": "live"}},
		}
	}
	group := func() *api.TaskGroup {
		return &api.TaskGroup{Name: new("g"), Services: services(), Tasks: []*api.Task{{Name: "a", Services: services()}, {Name: "b"}}}
	}
	g, want := group(), group()
	canary := CanaryGroup(g)
	for _, list := range [][]*api.Service{want.Services, want.Tasks[0].Services} {
		list[0].Tags, list[0].Meta = []string{"canary"}, map[string]string{"k": "canary"}
	}
	if diff := cmp.Diff(want, canary); diff != "" {
		t.Errorf("the canaries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(group(), g); diff != "" {
		t.Errorf("the group has changed (-want +got):\n%s", diff)
	}
}

// A group has count allocations; for a system job, at most one on each node.
func TestCount(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][3]int{"service": {0, 1, 3}, "batch": {0, 1, 3}, "system": {0, 1, 1}, "sysbatch": {0, 1, 1}} {
		for i, count := range []int{0, 1, 3} {
			if got := Count(&api.Job{Type: &kind}, &api.TaskGroup{Count: &count}); got != want[i] {
				t.Errorf("%s of %d: %d, want %d", kind, count, got, want[i])
			}
		}
	}
}

// Clients read the counts of a plan by group.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	p := &Plan{Groups: []Group{
		{Name: "a", Ignore: []int{1}, InPlace: []int{1, 2}, Replace: []int{1, 2, 3}},
		{Name: "b", Place: []int{1, 2, 3, 4}, Stop: []int{1}, Canary: []int{1, 2}},
	}}
	want := &api.PlanAnnotations{DesiredTGUpdates: map[string]*api.DesiredUpdates{
		"a": {Ignore: 1, InPlaceUpdate: 2, DestructiveUpdate: 3}, "b": {Place: 4, Stop: 1, Canary: 2},
	}}
	if diff := cmp.Diff(want, p.Annotations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Versions of a job are the same if they do not differ.
func TestSame(t *testing.T) {
	t.Parallel()
	a, b := newJob(), newJob()
	if !Same(a, b) {
		t.Error("equal versions differ")
	}
	if b.Priority = new(*a.Priority + 1); Same(a, b) {
		t.Error("another priority is the same")
	}
}
