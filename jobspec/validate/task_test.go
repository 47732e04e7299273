package validate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

const inTask = "error job.group[0].task[0]"

func TestTaskRules(t *testing.T) {
	t.Parallel()
	checkFaults(t, []fault{
		{name: "no name", task: func(t *api.Task) { t.Name = "" }, want: []string{inTask + ": task has no name"}},
		{name: "alloc", task: func(t *api.Task) { t.Name = "alloc" }, want: []string{inTask + `: a task cannot be named "alloc"`}},
		{name: "slash", task: func(t *api.Task) { t.Name = `a\b` }, want: []string{inTask + ": task name contains a slash"}},
		{name: "NUL", task: func(t *api.Task) { t.Name = "a\x00" }, want: []string{inTask + ": task name contains a NUL character"}},
		{name: "no driver", task: func(t *api.Task) { t.Driver = "" }, want: []string{inTask + ": task has no driver"}},
		{name: "unknown drivers are the engine's affair", task: func(t *api.Task) { t.Driver = "teleport" }},
		{name: "kill_timeout", task: func(t *api.Task) { t.KillTimeout = new(-time.Second) }, want: []string{inTask + ".kill_timeout: kill_timeout is negative"}},
		{name: "kill_timeout too long", task: func(t *api.Task) { t.KillTimeout = new(time.Hour) }, want: []string{inTask + ".kill_timeout: kill_timeout exceeds progress_deadline"}},
		{name: "kill_timeout until progress_deadline", task: func(t *api.Task) { t.KillTimeout = new(10 * time.Minute) }},
		{
			name: "kill_timeout without progress_deadline", task: func(t *api.Task) { t.KillTimeout = new(time.Hour) },
			group: func(g *api.TaskGroup) { g.Update = &api.UpdateStrategy{ProgressDeadline: new(time.Duration(0))} },
		},
		{
			name: "kill_timeout beyond a short progress_deadline", task: func(t *api.Task) { t.KillTimeout = new(2 * time.Minute) },
			group: func(g *api.TaskGroup) {
				g.Update = &api.UpdateStrategy{ProgressDeadline: new(time.Minute), HealthyDeadline: new(30 * time.Second)}
			},
			want: []string{inTask + ".kill_timeout: kill_timeout exceeds progress_deadline"},
		},
		{
			name: "kill_timeout of a system job with update", job: func(j *api.Job) { j.Type = new("system") },
			task: func(t *api.Task) { t.KillTimeout = new(time.Hour) },
			group: func(g *api.TaskGroup) {
				g.Update = &api.UpdateStrategy{ProgressDeadline: new(time.Minute), HealthyDeadline: new(30 * time.Second)}
			},
		},
		{name: "kill_timeout of a batch job", job: func(j *api.Job) { j.Type = new("batch") }, task: func(t *api.Task) { t.KillTimeout = new(time.Hour) }},
		{name: "shutdown_delay", task: func(t *api.Task) { t.ShutdownDelay = -time.Second }, want: []string{inTask + ".shutdown_delay: shutdown_delay is negative"}},
		{name: "signal", task: func(t *api.Task) { t.KillSignal = "SIGUSR1" }},
		{name: "unknown signal", task: func(t *api.Task) { t.KillSignal = "SIGCHLD" }, want: []string{inTask + ".kill_signal: unknown signal"}},
		{name: "reference for a signal", task: func(t *api.Task) { t.KillSignal = "${meta.sig}" }, want: []string{"warning job.group[0].task[0].kill_signal: a signal cannot be a reference"}},
		{name: "signal in lower case", task: func(t *api.Task) { t.KillSignal = "sigint" }, want: []string{inTask + ".kill_signal: unknown signal"}},
		{
			name: "hook", group: func(g *api.TaskGroup) {
				g.Tasks = append(g.Tasks, &api.Task{Name: "u", Driver: "raw_exec", Lifecycle: &api.TaskLifecycle{Hook: "before"}})
			},
			want: []string{"error job.group[0].task[1].lifecycle.hook: unknown lifecycle hook"},
		},
		{
			name: "poststop sidecar", group: func(g *api.TaskGroup) {
				g.Tasks = append(g.Tasks, &api.Task{Name: "u", Driver: "raw_exec", Lifecycle: &api.TaskLifecycle{Hook: "poststop", Sidecar: true}})
			},
			want: []string{"warning job.group[0].task[1].lifecycle.sidecar: sidecar has no effect"},
		},
		{
			name: "connect proxy", task: func(t *api.Task) { t.Kind, t.Leader = "connect-proxy:web", true },
			want: []string{inTask + ".kind: a connect proxy cannot be the leader", inTask + `.kind: service "web" has no sidecar`},
		},
		{
			name: "connect proxy of a service",
			group: func(g *api.TaskGroup) {
				g.Services = []*api.Service{{Name: "web", Connect: &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}}}}
			},
			task: func(t *api.Task) { t.Kind = "connect-proxy:web" },
		},
		{
			name: "connect proxy with a service", task: func(t *api.Task) {
				t.Kind, t.Services = "connect-proxy:web", []*api.Service{nomadService()}
			},
			want: []string{inTask + ".kind: a connect proxy has no services", inTask + `.kind: service "web" has no sidecar`},
		},
		{
			name: "docker ports", task: func(t *api.Task) {
				t.Driver, t.Config = "docker", map[string]any{"ports": []any{"http", "htp", "${NOMAD_META_x}"}}
			},
			want: []string{
				`warning job.group[0].task[0].config.ports[1]: port "htp" is not defined`,
				"warning job.group[0].task[0].config.ports: NOMAD_META_x is not set",
			},
		},
	})
}

func TestDispatchPayloadRules(t *testing.T) {
	t.Parallel()
	dispatched := func(j *api.Job) { j.Type, j.ParameterizedJob = new("batch"), &api.ParameterizedJobConfig{} }
	payload := func(file string) func(*api.Task) {
		return func(t *api.Task) { t.DispatchPayload = &api.DispatchPayloadConfig{File: file} }
	}
	checkFaults(t, []fault{
		{name: "valid", job: dispatched, task: payload("in/x.json")},
		{name: "sibling directory", job: dispatched, task: payload("../secrets/x")},
		{name: "escapes", job: dispatched, task: payload("../../../x"), want: []string{inTask + ".dispatch_payload.file: file lies outside of the allocation"}},
		{name: "no file", job: dispatched, task: payload(""), want: []string{"warning job.group[0].task[0].dispatch_payload: dispatch_payload has no file"}},
		{name: "not parameterized", task: payload("x"), want: []string{"warning job.group[0].task[0].dispatch_payload: dispatch_payload has no effect"}},
	})
}

func TestResourceRules(t *testing.T) {
	t.Parallel()
	resources := func(r api.Resources) func(*api.Task) {
		return func(t *api.Task) { t.Resources = &r }
	}
	logs := func(l api.LogConfig) func(*api.Task) {
		return func(t *api.Task) { t.LogConfig = &l }
	}
	const at = inTask + ".resources"
	checkFaults(t, []fault{
		{name: "cores", task: resources(api.Resources{Cores: new(2)})},
		{name: "cpu and cores", task: resources(api.Resources{CPU: new(100), Cores: new(1)}), want: []string{at + ".cores: cpu and cores exclude each other"}},
		{name: "negative cores", task: resources(api.Resources{Cores: new(-1)}), want: []string{at + ".cores: cores is negative"}},
		{name: "cpu", task: resources(api.Resources{CPU: new(0)}), want: []string{at + ".cpu: cpu is too small"}},
		{name: "memory", task: resources(api.Resources{MemoryMB: new(9)}), want: []string{at + ".memory: memory is too small"}},
		{name: "memory_max -1", task: resources(api.Resources{MemoryMaxMB: new(-1)})},
		{name: "memory_max", task: resources(api.Resources{MemoryMB: new(200), MemoryMaxMB: new(100)}), want: []string{at + ".memory_max: memory_max is below memory"}},
		{name: "negative secrets", task: resources(api.Resources{SecretsMB: new(-1)}), want: []string{at + ".secrets: secrets is negative"}},
		{name: "secrets", task: resources(api.Resources{MemoryMB: new(20), SecretsMB: new(21)}), want: []string{at + ".secrets: secrets exceeds memory"}},
		{
			name: "no effect", task: resources(api.Resources{DiskMB: new(5), IOPS: new(5)}),
			want: []string{"hint job.group[0].task[0].resources.disk: disk has no effect", "hint job.group[0].task[0].resources.iops: iops has no effect"},
		},
		{
			name: "devices",
			task: resources(api.Resources{
				Devices: []*api.RequestedDevice{{Constraints: []*api.Constraint{{Operand: "distinct_hosts"}}, Affinities: []*api.Affinity{{LTarget: "${device.model}", Operand: "="}}}},
				NUMA:    &api.NUMAResource{Affinity: "maybe", Devices: []string{"gpu"}},
			}),
			want: []string{
				at + ".device[0]: device has no name",
				at + ".device[0].constraint[0]: distinct_hosts is not possible in a device",
				at + `.device[0].affinity[0]: operator "=" needs a value`,
				at + ".numa.affinity: unknown NUMA affinity",
				at + `.numa.devices: device "gpu" is not requested`,
			},
		},
		{name: "logs that just fit", task: logs(api.LogConfig{MaxFiles: new(23), MaxFileSizeMB: new(13)})}, // 299 of 300
		{name: "logs that fill the disk", task: logs(api.LogConfig{MaxFiles: new(30)}), want: []string{inTask + ".logs: logs do not fit the ephemeral disk"}},
		{name: "logs beyond measure", task: logs(api.LogConfig{MaxFiles: new(math.MaxInt), MaxFileSizeMB: new(math.MaxInt)}), want: []string{inTask + ".logs: logs do not fit the ephemeral disk"}},
		{
			name: "no logs", task: logs(api.LogConfig{MaxFiles: new(0), MaxFileSizeMB: new(0)}),
			want: []string{inTask + ".logs.max_files: max_files is too small", inTask + ".logs.max_file_size: max_file_size is too small"},
		},
		{name: "logs.enabled", task: logs(api.LogConfig{Enabled: new(true)}), want: []string{"warning job.group[0].task[0].logs.enabled: enabled has no effect"}},
	})
}

func TestActionRules(t *testing.T) {
	t.Parallel()
	actions := func(actions ...*api.Action) func(*api.Task) {
		return func(t *api.Task) { t.Actions = actions }
	}
	checkFaults(t, []fault{
		{name: "valid", task: actions(&api.Action{Name: strings.Repeat("ä", 128), Command: "x"})},
		{name: "no command", task: actions(&api.Action{Name: "a"}), want: []string{inTask + ".action[0]: action has no command"}},
		{name: "blank in name", task: actions(&api.Action{Name: "a b", Command: "x"}), want: []string{inTask + ".action[0]: invalid action name"}},
		{name: "long name", task: actions(&api.Action{Name: strings.Repeat("a", 129), Command: "x"}), want: []string{inTask + ".action[0]: invalid action name"}},
		{name: "twice", task: actions(&api.Action{Name: "a", Command: "x"}, &api.Action{Name: "a", Command: "y"}), want: []string{inTask + `.action[1]: action "a" is defined twice`}},
	})
}

func TestCSIPluginAndScheduleRules(t *testing.T) {
	t.Parallel()
	plugin := func(p api.TaskCSIPluginConfig) func(*api.Task) {
		return func(t *api.Task) { t.CSIPluginConfig = &p }
	}
	schedule := func(s api.TaskSchedule) func(*api.Task) {
		return func(t *api.Task) { t.Schedule = &s }
	}
	checkFaults(t, []fault{
		{name: "csi plugin", task: plugin(api.TaskCSIPluginConfig{ID: "p", Type: "node"})},
		{
			name: "csi plugin of nothing", task: plugin(api.TaskCSIPluginConfig{MountDir: "/local", Type: "nodes"}),
			want: []string{
				inTask + ".csi_plugin: csi_plugin has no id",
				inTask + ".csi_plugin.type: unknown plugin type",
				inTask + ".csi_plugin.stage_publish_base_dir: stage_publish_base_dir lies in mount_dir",
			},
		},
		{name: "schedule", task: schedule(api.TaskSchedule{Cron: &api.TaskScheduleCron{Start: "30 9 * * MON-FRI *", End: "30 17", Timezone: "UTC"}})},
		{name: "schedule without cron", task: schedule(api.TaskSchedule{}), want: []string{inTask + ".schedule: schedule has no cron block"}},
		{
			name: "schedule of nothing", task: schedule(api.TaskSchedule{Cron: &api.TaskScheduleCron{Start: "9", End: "30 17,18", Timezone: "Mars/Base"}}),
			want: []string{
				inTask + ".schedule.cron.start: start of the schedule is malformed",
				inTask + ".schedule.cron.end: end of the schedule is malformed",
				inTask + ".schedule.cron.timezone: unknown time zone",
			},
		},
	})
}
