package recording

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
)

// The times of a task come from its events, if a recording has times and all events.
func TestTimesOfATask(t *testing.T) {
	t.Parallel()
	ended := map[string]string{"exit_code": "3"}
	all := []Event{
		{Type: api.TaskReceived, At: 1},
		{Type: api.TaskStarted, At: 2},
		{Type: api.TaskTerminated, At: 3, Details: map[string]string{"exit_code": "1"}},
		{Type: api.TaskStarted, At: 4},
		{Type: api.TaskKilling, At: 5},
		{Type: api.TaskTerminated, At: 6, Details: ended},
	}
	untimed := slices.Clone(all)
	for i := range untimed {
		untimed[i].At = 0
	}
	const unknown = -1
	for name, tt := range map[string]struct {
		state                    string
		events                   []Event
		received, started, ended float64
		stopped                  bool
		code                     string
	}{
		"dead":           {"dead", all, 11, 12, 16, true, "3"},
		"running":        {"running", all[:4], 11, 12, unknown, false, "1"},
		"not all events": {"dead", all[1:], unknown, unknown, 16, true, "3"},
		"no times":       {"dead", untimed, unknown, unknown, unknown, true, "3"},
		"no events":      {"pending", nil, unknown, unknown, unknown, false, ""},
	} {
		c := Task{State: tt.state, Events: tt.events, Restarts: 2, Failed: true}.compared(10 * time.Second)
		at := func(second float64) time.Duration {
			if second == unknown {
				return compare.Unknown
			}
			return time.Duration(second * float64(time.Second))
		}
		got := []any{c.Received, c.Started, c.Ended, c.Stopped, c.Values[compare.Key{Kind: compare.ExitCode}], len(c.Events)}
		want := []any{at(tt.received), at(tt.started), at(tt.ended), tt.stopped, tt.code, len(tt.events)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.Values[compare.Key{Kind: compare.State}] != tt.state || c.Values[compare.Key{Kind: compare.Failed}] != "true" || c.Values[compare.Key{Kind: compare.Restarts}] != "2" {
			t.Errorf("%s: values %v", name, c.Values)
		}
	}
}

// Values that a recording does not have are not compared.
func TestLacks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r                   Recording
		health, deployments bool
	}{
		{Recording{}, true, true},
		{Recording{Allocs: []Alloc{{Name: "j.g[0]"}, {Name: "j.g[1]", Healthy: new(false)}}}, false, true},
		{Recording{Deployments: [][]Deployment{{{Status: "old"}}, {{Status: "successful", Description: "done"}}}}, true, false},
	} {
		run := tt.r.Run()
		if slices.Contains(run.Lacks, compare.Health) != tt.health || slices.Contains(run.Lacks, compare.Deployments) != tt.deployments || run.Took != compare.Unknown {
			t.Errorf("%+v lacks %v", tt.r, run.Lacks)
		}
		if want := []compare.Deployment{{Status: "successful: done"}}; !tt.deployments && cmp.Diff(want, run.Deployments) != "" {
			t.Errorf("deployments %+v", run.Deployments)
		}
	}
	a := Alloc{Name: "j.g[2]", Status: "failed", Description: "why", Previous: true, Healthy: new(false)}.compared()
	values := map[compare.Key]string{{Kind: compare.Status}: "failed: why", {Kind: compare.Replacement}: "true", {Kind: compare.Health}: "false"}
	if diff := cmp.Diff(values, a.Values); diff != "" || a.Job != "j" || a.Group != "g" || a.Index != 2 {
		t.Errorf("%s.%s[%d]: %s", a.Job, a.Group, a.Index, diff)
	}
	if a := (Alloc{Name: "j.g[0]", Status: "running"}).compared(); len(a.Values) != 1 || a.Values[compare.Key{Kind: compare.Status}] != "running" {
		t.Errorf("values %v", a.Values)
	}
}
