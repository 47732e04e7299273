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
	info := taskenv.AllocInfo{ID: a.Alloc.ID, Name: a.Alloc.Name, Index: a.Index}
	b := taskenv.NewBuilder(a.Node, info, a.Job, a.Group, t.spec()).
		SetClientDir(a.Dir).
		SetPorts(a.Ports)
	isolation := t.driver.Capabilities().FSIsolation
	if isolation == drivers.FSIsolationChroot || isolation == drivers.FSIsolationImage {
		b.SetDirs(isolatedAlloc, isolatedLocal, isolatedSecrets)
	}
	if isolation != drivers.FSIsolationImage {
		b.SetHostEnv(a.HostEnv)
	}
	return b
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
