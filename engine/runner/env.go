package runner

import (
	"sync/atomic"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// The directories of a task whose file system is not that of the machine.
const (
	isolatedAlloc   = "/alloc"
	isolatedLocal   = "/local"
	isolatedSecrets = "/secrets"
)

// taskEnv is the environment of a task, which hooks add to. It belongs to the
// task's run, but for templates.
type taskEnv struct {
	builder *taskenv.Builder
	built   *taskenv.Env // by builder; nil when it has changed
	// templates is what a hook has set since the last snapshot.
	templates atomic.Pointer[map[string]string]
}

// change returns the builder to change the environment with.
func (e *taskEnv) change() *taskenv.Builder {
	e.built = nil
	return e.builder
}

// snapshot returns the environment as it is now.
func (e *taskEnv) snapshot() *taskenv.Env {
	if env := e.templates.Swap(nil); env != nil {
		e.change().SetTemplateEnv(*env)
	}
	if e.built == nil {
		e.built = e.builder.Build()
	}
	return e.built
}

func newEnv(t *task) *taskenv.Builder {
	a := t.alloc.cfg
	b := taskenv.NewBuilder(a.Node, a.info(), a.Job, a.Group, t.spec()).
		SetClientDir(a.Dir).
		SetPorts(a.Ports).
		SetCores(a.Cores[t.name])
	isolation := t.driver.Capabilities().FSIsolation
	if isolation == drivers.FSIsolationChroot || isolation == drivers.FSIsolationImage {
		b.SetDirs(isolatedAlloc, isolatedLocal, isolatedSecrets)
	}
	if isolation != drivers.FSIsolationImage {
		b.SetHostEnv(a.HostEnv)
	}
	for task, ports := range a.TaskPorts {
		b.SetTaskPorts(task, ports)
	}
	return b
}

// env is the environment of the allocation itself.
func (c *Config) env() *taskenv.Env {
	return taskenv.NewBuilder(c.Node, c.info(), c.Job, c.Group, nil).SetClientDir(c.Dir).SetPorts(c.Ports).Build()
}

func (c *Config) info() taskenv.AllocInfo {
	return taskenv.AllocInfo{ID: c.Alloc.ID, Name: c.Alloc.Name, Index: c.Index}
}
