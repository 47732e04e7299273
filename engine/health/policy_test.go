package health

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// The health of groups that take part in deployments is watched, unless the
// user sets it.
func TestPolicyOf(t *testing.T) {
	t.Parallel()
	group := func(name, how string, parallel int) *api.TaskGroup {
		return &api.TaskGroup{Name: &name, Update: &api.UpdateStrategy{
			MaxParallel: &parallel, HealthCheck: &how, MinHealthyTime: new(time.Second), HealthyDeadline: new(time.Minute),
		}}
	}
	for name, tt := range map[string]struct {
		jobType string
		group   *api.TaskGroup
		want    Policy
		ok      bool
		byHand  string
	}{
		"by its checks":      {"service", group("g", "checks", 1), Policy{time.Second, time.Minute, true}, true, ""},
		"by its tasks":       {"system", group("g", "task_states", 2), Policy{time.Second, time.Minute, false}, true, ""},
		"by hand":            {"service", group("g", "manual", 1), Policy{}, false, "g"},
		"no deployments":     {"service", group("g", "checks", 0), Policy{}, false, ""},
		"neither, by hand":   {"service", group("g", "manual", 0), Policy{}, false, ""},
		"a batch job":        {"batch", group("g", "checks", 1), Policy{}, false, ""},
		"a batch by hand":    {"batch", group("g", "manual", 1), Policy{}, false, ""},
		"without the block":  {"service", &api.TaskGroup{Name: new("g")}, Policy{}, false, ""},
		"a system job's own": {"system", group("g", "manual", 1), Policy{}, false, "g"},
	} {
		if got, ok := PolicyOf(tt.jobType, tt.group); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
		job := &api.Job{Type: &tt.jobType, TaskGroups: []*api.TaskGroup{group("first", "checks", 1), tt.group, group("last", "manual", 0)}}
		if got := ByHand(job); got != tt.byHand {
			t.Errorf("%s: %q has its health told by hand, want %q", name, got, tt.byHand)
		}
	}
}

func TestVerdictsAsWords(t *testing.T) {
	t.Parallel()
	for v, want := range map[Verdict]string{Unknown: "unknown", Healthy: "healthy", Unhealthy: "unhealthy"} {
		if v.String() != want {
			t.Errorf("%d is %q, want %q", uint8(v), v, want)
		}
	}
}
