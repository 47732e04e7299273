package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestJobRules(t *testing.T) {
	t.Parallel()
	checkFaults(t, []fault{
		{name: "no ID", job: func(j *api.Job) { j.ID = nil }, want: []string{"error job.id: job has no ID"}},
		{name: "space in ID", job: func(j *api.Job) { j.ID = new("a b") }, want: []string{"error job.id: job ID contains a space"}},
		{name: "NUL in ID", job: func(j *api.Job) { j.ID, j.Name = new("a\x00"), new("a") }, want: []string{"error job.id: job ID contains a NUL character"}},
		{name: "no name", job: func(j *api.Job) { j.Name = new("") }, want: []string{"error job.name: job name is empty"}},
		{name: "NUL in name", job: func(j *api.Job) { j.Name = new("a\x00") }, want: []string{"error job.name: job name contains a NUL character"}},
		{name: "no namespace", job: func(j *api.Job) { j.Namespace = new("") }, want: []string{"error job.namespace: namespace is empty"}},
		{name: "no region", job: func(j *api.Job) { j.Region = new("") }, want: []string{"error job.region: region is empty"}},
		{name: "no type", job: func(j *api.Job) { j.Type = new("") }, want: []string{"error job.type: job type is missing"}},
		{name: "unknown type", job: func(j *api.Job) { j.Type = new("core") }, want: []string{"error job.type: unknown job type"}},
		{
			name: "unknown type hides what depends on it",
			job:  func(j *api.Job) { j.Type, j.Update = new("deamon"), &api.UpdateStrategy{} },
			want: []string{"error job.type: unknown job type"},
		},
		{name: "empty datacenter", job: func(j *api.Job) { j.Datacenters = []string{"a", ""} }, want: []string{"error job.datacenters: datacenter name is empty"}},
		{name: "priority", job: func(j *api.Job) { j.Priority = new(101) }, want: []string{"warning job.priority: priority is out of range"}},
		{name: "multiregion", job: func(j *api.Job) { j.Multiregion = &api.Multiregion{} }, want: []string{"error job.multiregion: multiregion needs Nomad Enterprise"}},
		{
			name: "long description",
			job:  func(j *api.Job) { j.UI = &api.JobUIConfig{Description: strings.Repeat("x", 1001)} },
			want: []string{"error job.ui.description: description is too long"},
		},
		{name: "no group", job: func(j *api.Job) { j.TaskGroups = nil }, want: []string{"error job: job has no group"}},
		{
			name: "group twice",
			job:  func(j *api.Job) { j.TaskGroups = append(j.TaskGroups, validJob().TaskGroups...) },
			want: []string{`error job.group[1]: group "g" is defined twice`},
		},
		{name: "too many allocations", group: func(g *api.TaskGroup) { g.Count = new(50001) }, want: []string{"warning job: job has too many allocations"}},
		{
			name: "auto_promote in some groups",
			job: func(j *api.Job) {
				other := validJob().TaskGroups[0]
				other.Name, other.Update = new("h"), &api.UpdateStrategy{Canary: new(1)}
				j.TaskGroups[0].Update = &api.UpdateStrategy{Canary: new(1), AutoPromote: new(true)}
				j.TaskGroups = append(j.TaskGroups, other)
			},
			want: []string{"warning job.group[1].update.auto_promote: canaries are not promoted automatically"},
		},
	})
}

func TestPeriodicRules(t *testing.T) {
	t.Parallel()
	periodic := func(kind string, p *api.PeriodicConfig) func(*api.Job) {
		return func(j *api.Job) { j.Type, j.Periodic = new(kind), p }
	}
	checkFaults(t, []fault{
		{name: "valid", job: periodic("batch", &api.PeriodicConfig{Specs: []string{"@daily", "*/5 * * * *", "0 0 L * *"}, TimeZone: new("UTC")})},
		{name: "sysbatch", job: periodic("sysbatch", &api.PeriodicConfig{Specs: []string{"@hourly"}})},
		{name: "disabled", job: periodic("service", &api.PeriodicConfig{Enabled: new(false), Specs: []string{"@reboot"}})},
		{name: "service", job: periodic("service", &api.PeriodicConfig{Specs: []string{"@daily"}}), want: []string{"error job.periodic: periodic is for batch jobs"}},
		{name: "cron", job: periodic("batch", &api.PeriodicConfig{Spec: new("@daily")}), want: []string{"hint job.periodic.cron: cron is deprecated"}},
		{
			name: "cron and crons",
			job:  periodic("batch", &api.PeriodicConfig{Spec: new("@daily"), Specs: []string{"@daily"}}),
			want: []string{"hint job.periodic.cron: cron is deprecated", "error job.periodic: cron and crons exclude each other"},
		},
		{name: "neither", job: periodic("batch", &api.PeriodicConfig{}), want: []string{"error job.periodic: periodic has no cron expression"}},
		{name: "time zone", job: periodic("batch", &api.PeriodicConfig{Specs: []string{"@daily"}, TimeZone: new("Mars/Base")}), want: []string{"error job.periodic.time_zone: unknown time zone"}},
		{name: "minute 61", job: periodic("batch", &api.PeriodicConfig{Specs: []string{"61 * * * *"}}), want: []string{"error job.periodic.crons: invalid cron expression"}},
		{name: "reboot", job: periodic("batch", &api.PeriodicConfig{Specs: []string{"@reboot"}}), want: []string{"error job.periodic.crons: invalid cron expression"}},
		{name: "empty", job: periodic("batch", &api.PeriodicConfig{Specs: []string{""}}), want: []string{"error job.periodic.crons: invalid cron expression"}},
		{
			name: "other kind",
			job:  periodic("batch", &api.PeriodicConfig{SpecType: new("sundial"), Specs: []string{"noon"}}),
			want: []string{"error job.periodic: unknown kind of periodic expression"},
		},
	})
}

func TestParameterizedRules(t *testing.T) {
	t.Parallel()
	parameterized := func(kind string, p *api.ParameterizedJobConfig) func(*api.Job) {
		return func(j *api.Job) { j.Type, j.ParameterizedJob = new(kind), p }
	}
	checkFaults(t, []fault{
		{name: "valid", job: parameterized("batch", &api.ParameterizedJobConfig{Payload: "required", MetaRequired: []string{"a"}, MetaOptional: []string{"b"}})},
		{name: "service", job: parameterized("service", &api.ParameterizedJobConfig{}), want: []string{"error job.parameterized: parameterized is for batch jobs"}},
		{name: "payload", job: parameterized("batch", &api.ParameterizedJobConfig{Payload: "maybe"}), want: []string{"error job.parameterized.payload: unknown payload requirement"}},
		{
			name: "meta key twice",
			job:  parameterized("batch", &api.ParameterizedJobConfig{MetaRequired: []string{"k"}, MetaOptional: []string{"k"}}),
			want: []string{`error job.parameterized.meta_optional: meta key "k" is both required and optional`},
		},
	})
}

func TestConstraintRules(t *testing.T) {
	t.Parallel()
	constraint := func(target, operand, value string) func(*api.Job) {
		return func(j *api.Job) {
			j.Constraints = []*api.Constraint{{LTarget: target, Operand: operand, RTarget: value}}
		}
	}
	const kernel = "${attr.kernel.name}"
	for _, target := range append(nodeTargets(), "${meta.x}", "${device.model}", "literal") {
		checkFaults(t, []fault{{name: "attribute " + target, job: constraint(target, "=", "x")}})
	}
	for operand, value := range map[string]string{
		"is": "x", "not": "x", "<=": "3", "regexp": "^a", "version": "~> 1.2, < 2", "semver": ">= 1.2.3, != 2.0.0-rc1",
		"set_contains": "a,b", "distinct_property": "2", "is_set": "", "is_not_set": "",
	} {
		checkFaults(t, []fault{{name: "operator " + operand, job: constraint(kernel, operand, value)}})
	}
	checkFaults(t, []fault{
		{name: "distinct_hosts", job: constraint("", "distinct_hosts", "true")},
		{name: "no operator", job: constraint(kernel, "", "x"), want: []string{"error job.constraint[0].operator: operator is missing"}},
		{name: "unknown operator", job: constraint(kernel, "~=", "x"), want: []string{"error job.constraint[0].operator: unknown operator"}},
		{name: "no value", job: constraint(kernel, "<", ""), want: []string{`error job.constraint[0]: operator "<" needs a value`}},
		{name: "set without value", job: constraint(kernel, "set_contains_any", ""), want: []string{`error job.constraint[0]: operator "set_contains_any" needs a value`}},
		{name: "regexp", job: constraint(kernel, "regexp", "["), want: []string{"error job.constraint[0].value: invalid regexp"}},
		{name: "version", job: constraint(kernel, "version", "at least 2"), want: []string{"error job.constraint[0].value: invalid version"}},
		{name: "semver with ~>", job: constraint(kernel, "semver", "~> 1.2.3"), want: []string{"error job.constraint[0].value: invalid semver"}},
		{name: "semver of letters", job: constraint(kernel, "semver", ">= one"), want: []string{"error job.constraint[0].value: invalid semver"}},
		{name: "semver with two operators", job: constraint(kernel, "semver", ">= = 1.2.3"), want: []string{"error job.constraint[0].value: invalid semver"}},
		{name: "is_set with value", job: constraint(kernel, "is_set", "x"), want: []string{"error job.constraint[0].value: is_set takes no value"}},
		{name: "distinct_property of none", job: constraint(kernel, "distinct_property", "0"), want: []string{"error job.constraint[0].value: distinct_property needs a number"}},
		{name: "no attribute", job: constraint("", "=", "x"), want: []string{"error job.constraint[0]: constraint has no attribute"}},
		{name: "unknown attribute", job: constraint("${kernel.name}", "=", "x"), want: []string{"error job.constraint[0].attribute: unknown attribute"}},
		{name: "no opening brace", job: constraint("$attr.x", "=", "x"), want: []string{"error job.constraint[0].attribute: unknown attribute"}},
		{name: "no closing brace", job: constraint("${attr.x", "=", "x"), want: []string{"error job.constraint[0].attribute: unknown attribute"}},
		{
			name:  "group",
			group: func(g *api.TaskGroup) { g.Constraints = []*api.Constraint{{LTarget: kernel, Operand: "="}} },
			want:  []string{`error job.group[0].constraint[0]: operator "=" needs a value`},
		},
		{
			name: "distinct_hosts in a task",
			task: func(t *api.Task) { t.Constraints = []*api.Constraint{{Operand: "distinct_hosts"}} },
			want: []string{"error job.group[0].task[0].constraint[0]: distinct_hosts is not possible in a task"},
		},
	})
}

func TestAffinityAndSpreadRules(t *testing.T) {
	t.Parallel()
	affinity := func(a api.Affinity) func(*api.Job) {
		return func(j *api.Job) { j.Affinities = []*api.Affinity{&a} }
	}
	spread := func(s api.Spread) func(*api.Job) {
		return func(j *api.Job) { j.Spreads = []*api.Spread{&s} }
	}
	valid := api.Affinity{LTarget: "${node.class}", Operand: "=", RTarget: "a"}
	checkFaults(t, []fault{
		{name: "valid", job: affinity(valid)},
		{
			name: "weight 0", job: affinity(api.Affinity{LTarget: "${node.class}", Operand: "=", RTarget: "a", Weight: new(int8(0))}),
			want: []string{"error job.affinity[0].weight: weight is out of range"},
		},
		{
			name: "weight 101", job: affinity(api.Affinity{LTarget: "${node.class}", Operand: "=", RTarget: "a", Weight: new(int8(101))}),
			want: []string{"error job.affinity[0].weight: weight is out of range"},
		},
		{name: "no attribute", job: affinity(api.Affinity{Operand: "=", RTarget: "a"}), want: []string{"error job.affinity[0]: affinity has no attribute"}},
		{name: "operator of constraints", job: affinity(api.Affinity{LTarget: "${node.class}", Operand: "is_set"}), want: []string{"error job.affinity[0].operator: unknown operator"}},
		{name: "unknown attribute", job: affinity(api.Affinity{LTarget: "${nod.class}", Operand: "=", RTarget: "a"}), want: []string{"warning job.affinity[0].attribute: affinity never applies"}},
		{name: "sysbatch", job: func(j *api.Job) { j.Type = new("sysbatch"); affinity(valid)(j) }},
		{name: "system", job: func(j *api.Job) { j.Type = new("system"); affinity(valid)(j) }, want: []string{"error job.affinity[0]: a system job has no affinities"}},
		{
			name: "system, in a task", job: func(j *api.Job) { j.Type = new("system") },
			task: func(t *api.Task) { own := valid; t.Affinities = []*api.Affinity{&own} },
			want: []string{"error job.group[0].task[0].affinity[0]: a system job has no affinities"},
		},
		{name: "spread", job: spread(api.Spread{Attribute: "${node.datacenter}"})},
		{name: "spread without attribute", job: spread(api.Spread{}), want: []string{"error job.spread[0]: spread has no attribute"}},
		{name: "spread of weight 101", job: spread(api.Spread{Attribute: "a", Weight: new(int8(101))}), want: []string{"error job.spread[0].weight: weight is out of range"}},
		{
			name: "spread over 100 percent",
			job:  spread(api.Spread{Attribute: "a", SpreadTarget: []*api.SpreadTarget{{Value: "x", Percent: 60}, {Value: "x", Percent: 101}}}),
			want: []string{
				`error job.spread[0].target[1]: target "x" is defined twice`,
				"error job.spread[0].target[1].percent: percent is out of range",
				"error job.spread[0]: targets exceed 100 percent",
			},
		},
		{
			name: "spread of a system job",
			job:  func(j *api.Job) { j.Type = new("system"); spread(api.Spread{Attribute: "a"})(j) },
			want: []string{"error job.spread[0]: a system job has no spread"},
		},
	})
}

func TestGroupRules(t *testing.T) {
	t.Parallel()
	checkFaults(t, []fault{
		{name: "no name", group: func(g *api.TaskGroup) { g.Name = nil }, want: []string{"error job.group[0]: group has no name"}},
		{name: "NUL in name", group: func(g *api.TaskGroup) { g.Name = new("a\x00") }, want: []string{"error job.group[0]: group name contains a NUL character"}},
		{name: "count 0", group: func(g *api.TaskGroup) { g.Count = new(0) }},
		{name: "count -1", group: func(g *api.TaskGroup) { g.Count = new(-1) }, want: []string{"error job.group[0].count: count is negative"}},
		{
			name: "count of a system job", job: func(j *api.Job) { j.Type = new("system") },
			group: func(g *api.TaskGroup) { g.Count = new(2) },
			want:  []string{"error job.group[0].count: a system job runs one allocation of a group"},
		},
		{name: "shutdown_delay", group: func(g *api.TaskGroup) { g.ShutdownDelay = new(-time.Second) }, want: []string{"error job.group[0].shutdown_delay: shutdown_delay is negative"}},
		{name: "max_run_duration", job: func(j *api.Job) { j.Type = new("batch") }, group: func(g *api.TaskGroup) { g.MaxRunDuration = new(time.Hour) }},
		{
			name: "max_run_duration of a service", group: func(g *api.TaskGroup) { g.MaxRunDuration = new(time.Duration(0)) },
			want: []string{
				"error job.group[0].max_run_duration: max_run_duration is not positive",
				"error job.group[0].max_run_duration: max_run_duration is for batch jobs",
			},
		},
		{
			name: "small disk", group: func(g *api.TaskGroup) { g.EphemeralDisk = &api.EphemeralDisk{SizeMB: new(9)} },
			task: func(t *api.Task) { t.LogConfig = &api.LogConfig{MaxFiles: new(1), MaxFileSizeMB: new(1)} },
			want: []string{"error job.group[0].ephemeral_disk.size: ephemeral disk is too small"},
		},
		{
			name: "replaced by disconnect",
			group: func(g *api.TaskGroup) {
				g.MaxClientDisconnect, g.StopAfterClientDisconnect, g.PreventRescheduleOnLost = new(time.Hour), new(time.Hour), new(true)
			},
			want: []string{
				"hint job.group[0].max_client_disconnect: max_client_disconnect has no effect",
				"hint job.group[0].stop_after_client_disconnect: stop_after_client_disconnect has no effect",
				"hint job.group[0].prevent_reschedule_on_lost: prevent_reschedule_on_lost has no effect",
			},
		},
		{name: "no task", group: func(g *api.TaskGroup) { g.Tasks = nil }, want: []string{"error job.group[0]: group has no task"}},
		{
			name: "task twice", group: func(g *api.TaskGroup) { g.Tasks = append(g.Tasks, validJob().TaskGroups[0].Tasks[0]) },
			want: []string{`error job.group[0].task[1]: task "t" is defined twice`},
		},
		{
			name: "two leaders",
			group: func(g *api.TaskGroup) {
				g.Tasks = append(g.Tasks, &api.Task{Name: "u", Driver: "raw_exec", Leader: true})
				g.Tasks[0].Leader = true
			},
			want: []string{"error job.group[0].task[1].leader: a group has one leader"},
		},
		{
			name: "no main task", group: func(g *api.TaskGroup) { g.Tasks[0].Lifecycle = &api.TaskLifecycle{Hook: "prestart"} },
			want: []string{"error job.group[0]: group has no main task"},
		},
	})
}
