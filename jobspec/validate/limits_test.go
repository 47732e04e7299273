package validate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// A value at its limit is valid; the next one is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	affinity := func(weight int8) func(*api.Job) {
		return func(j *api.Job) {
			j.Affinities = []*api.Affinity{{LTarget: "${node.class}", Operand: "=", RTarget: "a", Weight: &weight}}
		}
	}
	spread := func(weight int8, percents ...uint8) func(*api.Job) {
		return func(j *api.Job) {
			s := &api.Spread{Attribute: "${node.class}", Weight: &weight}
			for i, percent := range percents {
				s.SpreadTarget = append(s.SpreadTarget, &api.SpreadTarget{Value: string(rune('a' + i)), Percent: percent})
			}
			j.Spreads = []*api.Spread{s}
		}
	}
	resources := func(r api.Resources) func(*api.Task) {
		return func(t *api.Task) { t.Resources = &r }
	}
	scaling := func(count int, least, most int64) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.Count, g.Scaling = &count, &api.ScalingPolicy{Type: api.ScalingPolicyTypeHorizontal, Min: &least, Max: &most}
		}
	}
	logs := func(disk, files, size int) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.EphemeralDisk = &api.EphemeralDisk{SizeMB: &disk}
			g.Tasks[0].LogConfig = &api.LogConfig{MaxFiles: &files, MaxFileSizeMB: &size}
		}
	}
	reschedule := func(delay, ceiling, interval time.Duration) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.ReschedulePolicy = &api.ReschedulePolicy{
				Attempts: new(1), Unlimited: new(false), DelayFunction: new("exponential"), Delay: &delay, MaxDelay: &ceiling, Interval: &interval,
			}
		}
	}
	port := func(value, to int) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.Networks = []*api.NetworkResource{{Mode: "bridge", ReservedPorts: []api.Port{{Label: "http", Value: value, To: to}}}}
		}
	}
	count := func(n int) func(*api.TaskGroup) { return func(g *api.TaskGroup) { g.Count = &n } }
	checkFaults(t, []fault{
		{name: "weight -100", job: affinity(-100)},
		{name: "weight 100", job: affinity(100)},
		{name: "weight -101", job: affinity(-101), want: []string{"error job.affinity[0].weight: weight is out of range"}},
		{name: "spread 1", job: spread(1)},
		{name: "spread 100", job: spread(100, 100)},
		{name: "spread 0", job: spread(0), want: []string{"error job.spread[0].weight: weight is out of range"}},
		{name: "spread -1", job: spread(-1), want: []string{"error job.spread[0].weight: weight is out of range"}},
		{name: "100 percent", job: spread(50, 60, 40)},
		{name: "101 percent", job: spread(50, 60, 41), want: []string{"error job.spread[0]: targets exceed 100 percent"}},
		{name: "description", job: func(j *api.Job) { j.UI = &api.JobUIConfig{Description: strings.Repeat("x", 1000)} }},
		{name: "priority 1", job: func(j *api.Job) { j.Priority = new(1) }},
		{name: "priority 100", job: func(j *api.Job) { j.Priority = new(100) }},
		{name: "priority -1", job: func(j *api.Job) { j.Priority = new(-1) }, want: []string{"warning job.priority: priority is out of range"}},
		{name: "count 50000", group: count(50000)},
		{name: "count 1 of a system job", job: func(j *api.Job) { j.Type = new("system") }, group: count(1)},

		{name: "scaling exactly", group: scaling(2, 2, 2)},
		{name: "scaling of nothing", group: scaling(0, 0, 0)},
		{name: "max below min", group: scaling(2, 2, 1), want: []string{"error job.group[0].scaling.max: max is below min"}},
		{name: "count above max", group: scaling(3, 1, 2), want: []string{"error job.group[0].scaling.max: count is above max"}},
		{name: "count below min", group: scaling(0, 1, 2), want: []string{"error job.group[0].scaling.min: count is below min"}},
		{name: "max -1", group: scaling(1, 0, -1), want: []string{"error job.group[0].scaling.max: scaling has no max"}},

		{name: "resources", task: resources(api.Resources{CPU: new(1), MemoryMB: new(10), MemoryMaxMB: new(10), SecretsMB: new(10)})},
		{name: "no memory_max", task: resources(api.Resources{CPU: new(1), MemoryMB: new(10), MemoryMaxMB: new(-1)})},
		{name: "one core", task: resources(api.Resources{Cores: new(1), CPU: new(0), MemoryMB: new(10)})},
		{name: "cores", task: resources(api.Resources{Cores: new(-1), CPU: new(0), MemoryMB: new(10)}), want: []string{"error job.group[0].task[0].resources.cores: cores is negative"}},
		{name: "cpu", task: resources(api.Resources{CPU: new(0), MemoryMB: new(10)}), want: []string{"error job.group[0].task[0].resources.cpu: cpu is too small"}},
		{name: "memory", task: resources(api.Resources{CPU: new(1), MemoryMB: new(9)}), want: []string{"error job.group[0].task[0].resources.memory: memory is too small"}},
		{
			name: "memory_max", task: resources(api.Resources{CPU: new(1), MemoryMB: new(10), MemoryMaxMB: new(9)}),
			want: []string{"error job.group[0].task[0].resources.memory_max: memory_max is below memory"},
		},
		{
			name: "secrets", task: resources(api.Resources{CPU: new(1), MemoryMB: new(10), SecretsMB: new(11)}),
			want: []string{"error job.group[0].task[0].resources.secrets: secrets exceeds memory"},
		},
		{
			name: "secrets -1", task: resources(api.Resources{CPU: new(1), MemoryMB: new(10), SecretsMB: new(-1)}),
			want: []string{"error job.group[0].task[0].resources.secrets: secrets is negative"},
		},

		{name: "logs that fit", group: logs(21, 4, 5)},
		{name: "logs that fill the disk", group: logs(20, 4, 5), want: []string{"error job.group[0].task[0].logs: logs do not fit the ephemeral disk"}},
		{name: "the smallest disk", group: logs(10, 1, 1)},
		{name: "no log files", group: logs(10, 0, 1), want: []string{"error job.group[0].task[0].logs.max_files: max_files is too small"}},
		{name: "empty log files", group: logs(10, 1, 0), want: []string{"error job.group[0].task[0].logs.max_file_size: max_file_size is too small"}},

		{name: "restart", group: func(g *api.TaskGroup) {
			g.RestartPolicy = &api.RestartPolicy{Attempts: new(5), Delay: new(time.Second), Interval: new(5 * time.Second)}
		}},
		{name: "restart without delay", group: func(g *api.TaskGroup) {
			g.RestartPolicy = &api.RestartPolicy{Attempts: new(5), Delay: new(time.Duration(0)), Interval: new(5 * time.Second)}
		}},
		{name: "reschedule", group: reschedule(5*time.Second, 5*time.Second, 15*time.Second)},
		{
			name: "reschedule, max_delay", group: reschedule(6*time.Second, 5*time.Second, 15*time.Second),
			want: []string{"error job.group[0].reschedule.max_delay: max_delay is below delay"},
		},
		{
			name: "max_parallel of all", group: func(g *api.TaskGroup) { g.Count, g.Update = new(2), &api.UpdateStrategy{MaxParallel: new(2)} },
		},
		{
			name: "max_parallel of one", group: func(g *api.TaskGroup) { g.Count, g.Update = new(1), &api.UpdateStrategy{MaxParallel: new(2)} },
		},

		{name: "task name", task: func(t *api.Task) { t.Name = strings.Repeat("x", 240) }},
		{name: "long task name", task: func(t *api.Task) { t.Name = strings.Repeat("x", 241) }, want: []string{"error job.group[0].task[0]: task name is too long"}},
		{name: "action name", task: func(t *api.Task) { t.Actions = []*api.Action{{Name: strings.Repeat("ü", 128), Command: "c"}} }},
		{
			name: "long action name", task: func(t *api.Task) { t.Actions = []*api.Action{{Name: strings.Repeat("ü", 129), Command: "c"}} },
			want: []string{"error job.group[0].task[0].action[0]: invalid action name"},
		},
		{name: "identity", task: func(t *api.Task) {
			t.Identities = []*api.WorkloadIdentity{{Name: strings.Repeat("x", 128), Audience: []string{"a"}, TTL: time.Hour}}
		}},
		{name: "port 65535", group: port(math.MaxUint16, math.MaxUint16)},
		{name: "to -1", group: port(80, -1)},
		{name: "to -2", group: port(80, -2), want: []string{`error job.group[0].network[0].port["http"].to: port is out of range`}},
		{name: "to 65536", group: port(80, 65536), want: []string{`error job.group[0].network[0].port["http"].to: port is out of range`}},
		{name: "port 65536", group: port(65536, 80), want: []string{`error job.group[0].network[0].port["http"].static: port is out of range`}},
	})
}

// A check has its limits in any service.
func TestLimitsOfChecks(t *testing.T) {
	t.Parallel()
	check := func(change func(*api.ServiceCheck)) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			k := api.ServiceCheck{Name: "c", Type: "http", Path: "/", Interval: time.Second, Timeout: time.Second, Notes: strings.Repeat("x", 255)}
			change(&k)
			g.Services = []*api.Service{{Name: strings.Repeat("s", 63), Provider: "consul", PortLabel: "http", Checks: []api.ServiceCheck{k}}}
		}
	}
	const at = "error job.group[0].service[0].check[0]"
	checkFaults(t, []fault{
		{name: "all at their limits", group: check(func(*api.ServiceCheck) {})},
		{name: "interval", group: check(func(k *api.ServiceCheck) { k.Interval-- }), want: []string{at + ".interval: interval of the check is too short"}},
		{name: "timeout", group: check(func(k *api.ServiceCheck) { k.Timeout-- }), want: []string{at + ".timeout: timeout of the check is too short"}},
		{name: "notes", group: check(func(k *api.ServiceCheck) { k.Notes += "x" }), want: []string{at + ".notes: notes are too long"}},
		{name: "thresholds", group: check(func(k *api.ServiceCheck) {
			k.SuccessBeforePassing, k.FailuresBeforeCritical, k.FailuresBeforeWarning = 1, 1, 1
		})},
		{name: "restarts", group: check(func(k *api.ServiceCheck) { k.CheckRestart = &api.CheckRestart{Limit: 0, Grace: new(time.Duration(0))} })},
		{
			name: "restarts below 0", group: check(func(k *api.ServiceCheck) { k.CheckRestart = &api.CheckRestart{Limit: -1, Grace: new(-time.Second)} }),
			want: []string{at + ".check_restart.limit: limit is negative", at + ".check_restart.grace: grace is negative"},
		},
	})
}

// Words of a remedy that depend on the value in the file.
func TestRemediesOfLimits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m", time.Hour: "1h", 10 * time.Minute: "10m", time.Hour + time.Second: "1h0m1s",
		20 * time.Second: "20s", 10 * time.Hour: "10h", 70 * time.Minute: "1h10m",
	} {
		if got := plain(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
	var found []string
	value := map[string]any{"b": []any{"2", []string{"3"}}, "a": "1", "c": []map[string]any{{"d": "4"}}, "n": 5}
	eachString(value, func(s string) { found = append(found, s) })
	if got := strings.Join(found, " "); got != "1 2 3 4" {
		t.Errorf("the strings are %q", got)
	}
}
