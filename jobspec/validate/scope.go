package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

type group struct {
	*checker
	tg    *api.TaskGroup
	name  string
	at    jobspec.Path
	ports portNames
}

func newGroup(c *checker, tg *api.TaskGroup, at jobspec.Path) *group {
	return &group{checker: c, tg: tg, name: deref(tg.Name), at: at, ports: newPortNames(tg)}
}

func (g *group) hasTask(name string) bool {
	return slices.ContainsFunc(g.tg.Tasks, func(t *api.Task) bool { return t != nil && t.Name == name })
}

func (g *group) taskNames() []string {
	names := make([]string, 0, len(g.tg.Tasks))
	for _, t := range g.tg.Tasks {
		names = append(names, orEmpty(t).Name)
	}
	return names
}

// hasVolume reports whether the group has a volume with that name, other than
// those that Nomad drops.
func (g *group) hasVolume(name string) bool {
	v := g.tg.Volumes[name]
	return v != nil && (v.Type == volumeHost || v.Type == volumeCSI)
}

const (
	volumeHost = "host"
	volumeCSI  = "csi"
)

func (g *group) missingPort(label string, known []string, at jobspec.Path) {
	g.refuse(at, fmt.Sprintf("port %q is not defined", label), fmt.Sprintf("group %q has no such port", g.name),
		cmp.Or(diagnostic.DidYouMean(label, known), fmt.Sprintf("add port %q {} to a network block of the group", label)))
}

// portNames are the labels that a group may refer to.
type portNames struct {
	group  []string // of the group's networks
	legacy []string // of the networks of its tasks
}

func newPortNames(tg *api.TaskGroup) portNames {
	var names portNames
	for _, n := range tg.Networks {
		names.group = appendLabels(names.group, n)
	}
	for _, s := range tg.Services {
		// Nomad adds the port of a sidecar if it is missing.
		if s != nil && s.Connect != nil && s.Connect.SidecarService != nil && s.Connect.SidecarService.Port != "" {
			names.group = append(names.group, s.Connect.SidecarService.Port)
		}
	}
	for _, t := range tg.Tasks {
		for _, n := range orEmpty(orEmpty(t).Resources).Networks {
			names.legacy = appendLabels(names.legacy, n)
		}
	}
	return names
}

func appendLabels(labels []string, n *api.NetworkResource) []string {
	for _, p := range slices.Concat(orEmpty(n).ReservedPorts, orEmpty(n).DynamicPorts) {
		labels = append(labels, p.Label)
	}
	return labels
}

// merged is a block of a group that Canonicalize has merged with the job's. An
// error belongs to the block that set the value: if the job has the same value,
// that is the job's.
type merged struct{ job, group jobspec.Path }

func (g *group) merged(block string) merged {
	return merged{job: jobspec.Root.Attr(block), group: g.at.Attr(block)}
}

// whole returns the path of the job's block, or else of the group's.
func (m merged) whole(ofJob bool) jobspec.Path {
	if ofJob {
		return m.job
	}
	return m.group
}

// at returns the path of an attribute; fromJob says that the job has its value.
func (m merged) at(attr string, fromJob bool) jobspec.Path {
	return m.whole(fromJob).Attr(attr)
}

// either returns the path of the first of two conflicting attributes, or of the
// second if only that one was written in the group.
func (m merged) either(first string, firstFromJob bool, second string, secondFromJob bool) jobspec.Path {
	if firstFromJob && !secondFromJob {
		return m.at(second, false)
	}
	return m.at(first, firstFromJob)
}

type task struct {
	*checker
	g  *group
	t  *api.Task
	at jobspec.Path
}

const variablePrefix = "NOMAD_"

const metaFamily = "META_"

// variableFamilies returns the parts of names between NOMAD_ and the label or
// key.
// https://developer.hashicorp.com/nomad/docs/reference/runtime-environment-settings
func variableFamilies() [11]string {
	return [...]string{
		"PORT_", "IP_", "ADDR_", "HOST_PORT_", "HOST_IP_", "HOST_ADDR_",
		"ALLOC_PORT_", "ALLOC_IP_", "ALLOC_ADDR_", "ALLOC_INTERFACE_", metaFamily,
	}
}

const (
	providerConsul = api.ServiceProviderConsul
	providerNomad  = "nomad"
)

func onUpdates() []string {
	return []string{"", api.OnUpdateRequireHealthy, api.OnUpdateIgnoreWarn, api.OnUpdateIgnore}
}

// again refuses a second block with the same name in a task.
func (t *task) again(seen map[string]bool, at jobspec.Path, name string) {
	if seen[name] {
		t.refuse(at, fmt.Sprintf("%s %q is defined twice", at.Name(), name), fmt.Sprintf("in task %q", t.t.Name), "rename one of them")
	}
	seen[name] = true
}
