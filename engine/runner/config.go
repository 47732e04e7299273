package runner

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// Config describes an allocation. It is read only.
type Config struct {
	Alloc    *event.Alloc
	Index    int
	Job      *api.Job // canonicalized
	Group    *api.TaskGroup
	Dir      string // the allocation's directory, made by a hook
	Replaces string // ID of the failed allocation that this one replaces
	// Replacements of failed allocations led to this one, the latest one last.
	Replacements []restart.Replacement
	// Evaluation is the ID of the evaluation that placed it.
	Evaluation string
	Sticky     string // link to the allocation whose data this one takes over, or empty
	// Deployment is the ID of the deployment that waits for the allocation's
	// health, or empty.
	Deployment string
	Canary     bool // placed by that deployment as a canary and not promoted

	Drivers        map[string]drivers.Driver
	Hooks          hooks.Catalog
	Node           *taskenv.Node
	HostEnv        []string
	Ports          []taskenv.Port            // ports of the group
	TaskPorts      map[string][]taskenv.Port // ports of tasks with their own (deprecated) networks
	Cores          map[string]taskenv.Cores  // cores of tasks that request some
	MaxKillTimeout time.Duration
	Chance         chance.Source

	Bus *event.Bus
	// Recorder publishes events, and stores them if it is durable. If nil, they
	// go to the Bus.
	Recorder *store.Recorder
	// Retry returns the delay before the allocation is replaced if it failed at
	// the given time. It is negative if it is not replaced.
	Retry func(failed time.Time) time.Duration
	// OnVerdict receives the verdict on the allocation's health. It must not
	// block.
	OnVerdict func(health.Verdict)
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

func (c *Config) info() taskenv.AllocInfo {
	return taskenv.AllocInfo{ID: c.Alloc.ID, Name: c.Alloc.Name, Index: c.Index}
}

// env returns the environment of the allocation itself.
func (c *Config) env() *taskenv.Env {
	b := taskenv.NewBuilder(c.Node, c.info(), c.Job, c.Group, nil).SetClientDir(c.Dir)
	b.Ports = c.Ports
	return b.Build()
}

// taskEnv returns the environment of a task before its hooks add to it.
func (c *Config) taskEnv(t *api.Task, isolation drivers.FSIsolation) *taskenv.Builder {
	b := taskenv.NewBuilder(c.Node, c.info(), c.Job, c.Group, t).SetClientDir(c.Dir)
	b.Ports, b.TaskPorts, b.Cores = c.Ports, c.TaskPorts, c.Cores[t.Name]
	if isolation == drivers.FSIsolationChroot || isolation == drivers.FSIsolationImage {
		b.Dirs = taskenv.Dirs{Alloc: isolatedAlloc, Task: isolatedLocal, Secrets: isolatedSecrets}
	}
	if isolation != drivers.FSIsolationImage {
		b.HostEnv = c.HostEnv
	}
	return b
}

// Directories of a task with a file system of its own.
const (
	isolatedAlloc   = "/alloc"
	isolatedLocal   = "/local"
	isolatedSecrets = "/secrets"
)

// taskEnv is the environment of a task, which hooks extend. Except for
// templates, it is owned by the task's run.
type taskEnv struct {
	builder *taskenv.Builder
	built   *taskenv.Env // by builder; nil after a change
	// templates holds the variables that a hook has set since the last
	// snapshot.
	templates atomic.Pointer[map[string]string]
}

// change returns the builder and discards the built environment.
func (e *taskEnv) change() *taskenv.Builder {
	e.built = nil
	return e.builder
}

// snapshot returns the current environment.
func (e *taskEnv) snapshot() *taskenv.Env {
	if env := e.templates.Swap(nil); env != nil {
		e.change().TemplateEnv = *env
	}
	if e.built == nil {
		e.built = e.builder.Build()
	}
	return e.built
}
