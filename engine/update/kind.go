package update

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Kind is the effect of a job's change on the allocations of a group.
type Kind int

// The kinds, in ascending order of severity.
const (
	Ignore      Kind = iota // nothing has changed
	InPlace                 // the allocations go on with other settings
	Destructive             // the allocations must be replaced
)

// Fields that cannot change while a task is running. All other fields can.
// These are Nomad's rules, see
// https://developer.hashicorp.com/nomad/docs/job-declare/strategy.
var (
	destructiveOfGroup = []string{"EphemeralDisk", "Networks", "Consul", "Volumes", "RestartPolicy.RenderTemplates"}
	destructiveOfTask  = []string{
		"Driver", "User", "Config", "Env", "Artifacts", "Vault", "Secrets", "Consul", "Templates", "CSIPluginConfig",
		"VolumeMounts", "Identity", "Identities", "LogConfig.Disabled", "RestartPolicy.RenderTemplates",
		"Resources.CPU", "Resources.Cores", "Resources.MemoryMB", "Resources.MemoryMaxMB", "Resources.Networks",
		"Resources.Devices", "Resources.NUMA", "Resources.SecretsMB",
	}
	connect = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Services\[[^]]*\]\.Connect\b`) })
)

// kindOfGroup returns the effect of the change of a group that exists in both
// versions.
func kindOfGroup(before, after *api.Job, was, is *api.TaskGroup) Kind {
	if len(was.Tasks) != len(is.Tasks) || breaks(changes(groupValues(was), groupValues(is)), destructiveOfGroup) {
		return Destructive
	}
	for _, t := range is.Tasks {
		old := taskNamed(was, t.Name)
		if old == nil || taskBreaks(before, after, was, is, old, t) {
			return Destructive
		}
	}
	return InPlace
}

func taskBreaks(before, after *api.Job, was, is *api.TaskGroup, old, t *api.Task) bool {
	return breaks(changes(valuesOf(old), valuesOf(t)), destructiveOfTask) ||
		!maps.Equal(meta(before, was, old), meta(after, is, t))
}

// breaks reports whether a change at any of the paths is destructive.
func breaks(paths, destructive []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return connect().MatchString(path) || slices.ContainsFunc(destructive, func(field string) bool { return within(path, field) })
	})
}

// meta returns the merged meta blocks of a task.
func meta(job *api.Job, g *api.TaskGroup, t *api.Task) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{job.Meta, g.Meta, t.Meta} {
		maps.Copy(all, m)
	}
	return all
}

func taskNamed(g *api.TaskGroup, name string) *api.Task {
	if g != nil {
		for _, t := range g.Tasks {
			if t.Name == name {
				return t
			}
		}
	}
	return nil
}

// taskNames returns the names of the tasks of a group, which may be nil.
func taskNames(g *api.TaskGroup) (names []string) {
	if g != nil {
		for _, t := range g.Tasks {
			names = append(names, t.Name)
		}
	}
	return names
}

func stopped(job *api.Job) bool { return job.Stop != nil && *job.Stop }

// groupNames returns the groups of both versions.
func groupNames(before, after *api.Job) (names []string) {
	for _, job := range []*api.Job{after, before} {
		if job == nil {
			continue
		}
		for _, g := range job.TaskGroups {
			if !slices.Contains(names, *g.Name) {
				names = append(names, *g.Name)
			}
		}
	}
	return names
}

func groupNamed(job *api.Job, name string) *api.TaskGroup {
	if job == nil {
		return nil
	}
	return job.LookupTaskGroup(name)
}

// Count returns how many allocations a group has on one node: none if the job
// is stopped.
func Count(job *api.Job, g *api.TaskGroup) int {
	if stopped(job) {
		return 0
	}
	if strings.HasPrefix(*job.Type, "sys") {
		return min(*g.Count, 1)
	}
	return *g.Count
}
