package validate

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func TestAllocations(t *testing.T) {
	t.Parallel()
	group := func(name string, count, canary int) *api.TaskGroup {
		return &api.TaskGroup{Name: &name, Count: &count, Update: &api.UpdateStrategy{Canary: &canary}}
	}
	for name, c := range map[string]struct {
		groups []*api.TaskGroup
		want   []string
	}{
		"at the limit":            {[]*api.TaskGroup{group("a", 60, 0), group("b", 39, 1)}, nil},
		"count":                   {[]*api.TaskGroup{group("a", 1, 0), group("b", 101, 0)}, []string{`error job.group[1].count: count of group "b" is 101; a job may have at most 100 allocations`}},
		"largest count":           {[]*api.TaskGroup{group("a", math.MaxInt, 0)}, []string{fmt.Sprintf(`error job.group[0].count: count of group "a" is %d; a job may have at most 100 allocations`, math.MaxInt)}},
		"a sum":                   {[]*api.TaskGroup{group("a", 60, 0), group("b", 41, 0)}, []string{`error job.group[0].count: count of group "a" is 60, and all groups have 101 allocations; a job may have at most 100 allocations`}},
		"a sum that overflows":    {[]*api.TaskGroup{group("a", math.MaxInt, 1), group("b", math.MaxInt, 1)}, []string{fmt.Sprintf(`error job.group[0].count: count of group "a" is %d and its canary is 1; a job may have at most 100 allocations`, math.MaxInt)}},
		"canaries":                {[]*api.TaskGroup{group("a", 1, 100)}, []string{`error job.group[0].update.canary: count of group "a" is 1 and its canary is 100; a job may have at most 100 allocations`}},
		"negative ones count not": {[]*api.TaskGroup{group("a", math.MinInt, math.MinInt), group("b", 100, 0)}, nil},
		"null":                    {[]*api.TaskGroup{nil, {}}, nil},
		"scaling": {
			[]*api.TaskGroup{{Name: new("a"), Count: new(1), Scaling: &api.ScalingPolicy{Max: new(int64(101))}}},
			[]string{"warning job.group[0].scaling.max: max is 101, and a job may have at most 100 allocations"},
		},
	} {
		var got []string
		for _, p := range Allocations(&api.Job{TaskGroups: c.groups}, 100) {
			got = append(got, fmt.Sprintf("%s %s: %s", p.Severity, p.Path, p.Detail))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if found := Allocations(&api.Job{TaskGroups: []*api.TaskGroup{group("a", 2, 0)}}, 1); len(found) != 1 || found[0].Detail != `count of group "a" is 2; a job may have at most 1 allocation` {
		t.Errorf("a limit of 1: %v", found)
	}
}
