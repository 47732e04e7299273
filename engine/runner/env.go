package runner

import (
	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// The directories of a task whose file system is not that of the machine.
const (
	isolatedAlloc   = "/alloc"
	isolatedLocal   = "/local"
	isolatedSecrets = "/secrets"
)

func (t *task) newEnv() *taskenv.Builder {
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
func (a *Alloc) env() *taskenv.Env {
	cfg := a.Config()
	return taskenv.NewBuilder(cfg.Node, cfg.info(), cfg.Job, cfg.Group, nil).SetClientDir(cfg.Dir).SetPorts(cfg.Ports).Build()
}

func (c *Config) info() taskenv.AllocInfo {
	return taskenv.AllocInfo{ID: c.Alloc.ID, Name: c.Alloc.Name, Index: c.Index}
}

// snapshot returns the environment as it is now.
func (t *task) snapshot() *taskenv.Env {
	if env := t.templates.Swap(nil); env != nil {
		t.env.SetTemplateEnv(*env)
		t.built = nil
	}
	if t.built == nil {
		t.built = t.env.Build()
	}
	return t.built
}
