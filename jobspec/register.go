package jobspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// defaultKillTimeout replaces a kill_timeout that is missing or zero.
const defaultKillTimeout = 5 * time.Second

// Register adds to a canonicalized job the values that a Nomad server adds during
// registration: datacenters, a priority and a kill_timeout in place of zero, the
// payload of dispatched jobs, the names and tasks of services and of their checks,
// the default identity of tasks, and defaults for missing settings.
//
// See https://developer.hashicorp.com/nomad/docs/job-specification/service#name.
func Register(job *api.Job) {
	if len(job.Datacenters) == 0 {
		job.Datacenters = []string{"*"}
	}
	if job.NodePool == nil || *job.NodePool == "" {
		job.NodePool = new(api.NodePoolDefault)
	}
	if job.Priority == nil || *job.Priority == 0 {
		job.Priority = new(api.JobDefaultPriority)
	}
	setDefault(&job.DispatchIdempotencyToken, "")
	if p := job.ParameterizedJob; p != nil {
		p.Payload = cmp.Or(p.Payload, "optional")
	}
	for _, group := range job.TaskGroups {
		setDefault(&group.PreventRescheduleOnLost, false)
		registerPorts(group.Networks)
		registerServices(group.Services, *job.Name, *group.Name, "group")
		for _, task := range group.Tasks {
			if task.KillTimeout != nil && *task.KillTimeout == 0 {
				task.KillTimeout = new(defaultKillTimeout)
			}
			if r := task.Resources; r != nil {
				for _, number := range []**int{&r.DiskMB, &r.IOPS, &r.MemoryMaxMB, &r.SecretsMB} {
					setDefault(number, 0)
				}
				registerPorts(r.Networks)
			}
			registerServices(task.Services, *job.Name, *group.Name, task.Name)
			for _, s := range task.Services {
				s.TaskName = task.Name
				for i := range s.Checks {
					s.Checks[i].TaskName = cmp.Or(s.Checks[i].TaskName, task.Name)
				}
			}
			registerIdentity(task)
		}
	}
}

// registerIdentity gives a task the identity that Nomad's own API accepts.
func registerIdentity(task *api.Task) {
	isDefault := func(id *api.WorkloadIdentity) bool { return id.Name == "" || id.Name == "default" }
	if task.Identity == nil && !slices.ContainsFunc(task.Identities, isDefault) {
		task.Identity = &api.WorkloadIdentity{}
	}
	if task.Identity != nil {
		task.Identity.Name, task.Identity.Audience = "default", []string{"nomadproject.io"}
	}
}

func registerPorts(networks []*api.NetworkResource) {
	for _, n := range networks {
		for _, ports := range [][]api.Port{n.DynamicPorts, n.ReservedPorts} {
			for i := range ports {
				ports[i].HostNetwork = cmp.Or(ports[i].HostNetwork, "default")
			}
		}
	}
}

func registerServices(services []*api.Service, job, group, task string) {
	// Other references are resolved when an allocation is placed.
	names := strings.NewReplacer("${JOB}", job, "${TASKGROUP}", group, "${TASK}", task, "${BASE}", job+"-"+group+"-"+task)
	for _, s := range services {
		s.Name = names.Replace(s.Name)
		for i := range s.Checks {
			c := &s.Checks[i]
			c.Name = cmp.Or(c.Name, fmt.Sprintf("service: %q check", s.Name))
		}
	}
}
