package runner

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// networkManager is the driver of the group's tasks that must make its network;
// nil when there is none.
func networkManager(tasks []*task) drivers.NetworkManager {
	for _, t := range tasks {
		if m, ok := t.driver.(drivers.NetworkManager); ok && t.driver.Capabilities().MustInitiateNetwork {
			return m
		}
	}
	return nil
}

// enterNetwork tells the task of the network that its group has. Before run.
func (t *task) enterNetwork() {
	if n := t.alloc.network; n != nil && n.IP != "" {
		t.env.change().SetNetworkStatus(n.Interface, n.IP)
	}
}

// isolation is the network that the task is started in. Only tasks of the
// driver that made it can be; the others stay on that of the machine.
func (t *task) isolation() *drivers.NetworkIsolation {
	if n := t.alloc.network; n != nil && n.Driver == t.driver.Info().Name {
		return n
	}
	return nil
}

// Granted returns what a task gets of what it asks for. Cores decide its CPU,
// and memory_max counts with oversubscription only.
// See https://developer.hashicorp.com/nomad/docs/job-specification/resources.
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

// env is the environment of the allocation itself.
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

// The directories of a task whose file system is not that of the machine.
const (
	isolatedAlloc   = "/alloc"
	isolatedLocal   = "/local"
	isolatedSecrets = "/secrets"
)

// dnsOf is how the tasks of a group resolve names, nil if as the machine does.
func dnsOf(g *api.TaskGroup) *drivers.DNS {
	if len(g.Networks) == 0 || g.Networks[0].DNS == nil {
		return nil
	}
	dns := g.Networks[0].DNS
	return &drivers.DNS{Servers: dns.Servers, Searches: dns.Searches, Options: dns.Options}
}
