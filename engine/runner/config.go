package runner

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// networkManager returns the driver of the group's tasks that must create its
// network, or nil.
func networkManager(tasks []*task) drivers.NetworkManager {
	for _, t := range tasks {
		if m, ok := t.driver.(drivers.NetworkManager); ok && t.driver.Capabilities().MustInitiateNetwork {
			return m
		}
	}
	return nil
}

// enterNetwork gives the task the network of its group. Call it before run.
func (t *taskRun) enterNetwork() {
	if n := t.alloc.network; n != nil && n.IP != "" {
		t.env.change().SetNetworkStatus(n.Interface, n.IP)
	}
}

// isolation returns the network in which the task starts. Only tasks of the
// driver that created it can join it; the others use the network of the
// machine.
func (t *taskRun) isolation() *drivers.NetworkIsolation {
	if n := t.alloc.network; n != nil && n.Driver == t.driver.Info().Name {
		return n
	}
	return nil
}

// Granted returns the resources that a task gets. Cores determine its CPU, and
// memory_max has an effect only with oversubscription. See
// https://developer.hashicorp.com/nomad/docs/job-specification/resources.
func (c *Config) Granted(t *api.Task) (out drivers.Resources) {
	r := t.Resources
	if r == nil {
		return out
	}
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&out.CPU, r.CPU)
	set(&out.MemoryMB, r.MemoryMB)
	if c.Node != nil && c.Node.MemoryOversubscription {
		set(&out.MemoryMaxMB, r.MemoryMaxMB)
	}
	if cores, ok := c.Cores[t.Name]; ok {
		out.CPU, out.Cores = cores.MHz, cores.IDs
	}
	return out
}

func (t *task) granted() drivers.Resources {
	cfg := t.alloc.Config()
	return cfg.Granted(t.spec())
}

func (c *Config) info() taskenv.AllocInfo {
	return taskenv.AllocInfo{ID: c.Alloc.ID, Name: c.Alloc.Name, Index: c.Index}
}

// env returns the environment of the allocation itself.
func (c *Config) env() *taskenv.Env {
	return taskenv.NewBuilder(c.Node, c.info(), c.Job, c.Group, nil).SetClientDir(c.Dir).SetPorts(c.Ports).Build()
}

// taskEnv returns the environment of a task before its hooks add to it.
func (c *Config) taskEnv(t *api.Task, isolation drivers.FSIsolation) *taskenv.Builder {
	b := taskenv.NewBuilder(c.Node, c.info(), c.Job, c.Group, t).
		SetClientDir(c.Dir).
		SetPorts(c.Ports).
		SetCores(c.Cores[t.Name])
	if isolation == drivers.FSIsolationChroot || isolation == drivers.FSIsolationImage {
		b.SetDirs(isolatedAlloc, isolatedLocal, isolatedSecrets)
	}
	if isolation != drivers.FSIsolationImage {
		b.SetHostEnv(c.HostEnv)
	}
	for task, ports := range c.TaskPorts {
		b.SetTaskPorts(task, ports)
	}
	return b
}

// Directories of a task with a file system of its own.
const (
	isolatedAlloc   = "/alloc"
	isolatedLocal   = "/local"
	isolatedSecrets = "/secrets"
)

// dnsOf returns how the tasks of a group resolve names; nil means like the
// machine.
func dnsOf(g *api.TaskGroup) *drivers.DNS {
	if len(g.Networks) == 0 || g.Networks[0].DNS == nil {
		return nil
	}
	dns := g.Networks[0].DNS
	return &drivers.DNS{Servers: dns.Servers, Searches: dns.Searches, Options: dns.Options}
}
