package taskenv

import (
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// Possible returns the names of the NOMAD_* variables that a task of a
// canonical job may have, and of those in its env block. It has some of them in
// some runs only. Variables of the host, of templates, of Connect upstreams and
// of the deprecated networks of other tasks are not included. If task is nil,
// the names are those of the allocation itself, see NewBuilder.
func Possible(job *api.Job, group *api.TaskGroup, task *api.Task, ports []string) map[string]string {
	g := *group
	g.Services = nil
	b := NewBuilder(&Node{Region: "-", Datacenter: "-", CgroupParent: "-", MemoryOversubscription: true},
		AllocInfo{ID: "-", Name: "-"}, dispatched(job), &g, task)
	b.Cores, b.VaultToken, b.VaultNamespace = Cores{MHz: 1}, "-", "-"
	b.Network, b.Ports = Network{"-", "::"}, portsNamed(ports)
	b.SetClientDir("/").SetIdentityToken("", "-")
	if task != nil {
		b.TaskPorts = map[string][]Port{task.Name: portsNamed(ownPorts(task))}
		for _, identity := range task.Identities {
			if identity != nil {
				b.SetIdentityToken(identity.Name, "-")
			}
		}
	}
	names := maps.Clone(b.Build().Map())
	names["NOMAD_JOB_PARENT_ID"] = ""
	if task != nil {
		names["NOMAD_MEMORY_MAX_LIMIT"] = ""
	}
	return names
}

// dispatched returns a job with all meta keys that a dispatch may set.
func dispatched(job *api.Job) *api.Job {
	if job.ParameterizedJob == nil {
		return job
	}
	child := *job
	child.Meta = make(map[string]string)
	for _, key := range slices.Concat(job.ParameterizedJob.MetaRequired, job.ParameterizedJob.MetaOptional) {
		child.Meta[key] = ""
	}
	maps.Copy(child.Meta, job.Meta)
	return &child
}

// ownPorts returns the labels in the deprecated networks of a task.
func ownPorts(task *api.Task) (labels []string) {
	if task.Resources == nil {
		return nil
	}
	for _, n := range task.Resources.Networks {
		if n == nil {
			continue
		}
		for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
			labels = append(labels, p.Label)
		}
	}
	return labels
}

func portsNamed(labels []string) []Port {
	ports := make([]Port, len(labels))
	for i, label := range labels {
		ports[i] = Port{Label: label, Value: 1, HostIP: "127.0.0.1"}
	}
	return ports
}
