package preflight

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/secrets"
	"taskrun/jobspec"
)

// notDone lists features of job files that a run does not support yet, with the
// effect. The list shrinks as features arrive.
var notDone = []gap{
	{"host_network", hostNetworks, "every port is one of 127.0.0.1"},

	{"secret", pluginSecrets, "there are no plugins: only those of Nomad and Vault are fetched"},
	{"csi_plugin", ofTasks(func(t *api.Task) bool { return t.CSIPluginConfig != nil }), "the task runs, but nothing uses its socket"},
	{"scaling", inTasks(func(t *api.Task) int { return len(t.ScalingPolicies) }), "resources stay as they are"},
	{"schedule", ofTasks(func(t *api.Task) bool { return t.Schedule != nil }), "the task runs immediately"},
	{"resources.device", inTasks(devices), "the task gets no device"},
	{"resources.numa", ofTasks(func(t *api.Task) bool { return t.Resources != nil && t.Resources.NUMA != nil }), "the task runs on any core"},
}

// gap is a missing feature.
type gap struct {
	block   string // as in the job file
	find    func(j *api.Job, block string) []jobspec.Path
	instead string // the effect
}

// gaps warns once about each kind of block in a job that a run does not
// support.
func gaps(_ *Case, f File) (diagnostics jobspec.Diagnostics) {
	for _, g := range notDone {
		places := g.find(f.Job, g.block)
		if len(places) == 0 {
			continue
		}
		p := jobspec.Diagnostic{
			Severity: jobspec.Warning,
			Summary:  fmt.Sprintf("%q blocks are not supported yet: %s", g.block, g.instead),
			Path:     places[0],
		}
		if n := len(places); n > 1 {
			p.Detail = fmt.Sprintf("the job has %d of them", n)
		}
		diagnostics = append(diagnostics, p)
	}
	return diagnostics
}

func inTasks(count func(*api.Task) int) func(*api.Job, string) []jobspec.Path {
	return func(j *api.Job, block string) (paths []jobspec.Path) {
		forTasks(j, func(t *api.Task, at jobspec.Path) {
			for n := range count(t) {
				paths = append(paths, at.Index(block, n))
			}
		})
		return paths
	}
}

func ofTasks(has func(*api.Task) bool) func(*api.Job, string) []jobspec.Path {
	return func(j *api.Job, block string) (paths []jobspec.Path) {
		forTasks(j, func(t *api.Task, at jobspec.Path) {
			if has(t) {
				paths = append(paths, at.Attr(block))
			}
		})
		return paths
	}
}

func hostNetworks(j *api.Job, block string) (paths []jobspec.Path) {
	for i, g := range j.TaskGroups {
		for n, network := range g.Networks {
			for _, p := range slices.Concat(network.ReservedPorts, network.DynamicPorts) {
				if p.HostNetwork != "" && p.HostNetwork != "default" {
					at := jobspec.Root.Index("group", i).Index("network", n)
					paths = append(paths, at.Label("port", p.Label).Attr(block))
				}
			}
		}
	}
	return paths
}

// pluginSecrets finds secrets of providers other than Nomad and Vault.
func pluginSecrets(j *api.Job, block string) (paths []jobspec.Path) {
	forTasks(j, func(t *api.Task, at jobspec.Path) {
		for n, s := range t.Secrets {
			if !secrets.Known(s) {
				paths = append(paths, at.Index(block, n))
			}
		}
	})
	return paths
}

func devices(t *api.Task) int {
	if t.Resources == nil {
		return 0
	}
	return len(t.Resources.Devices)
}
