package runner

import "taskrun/jobspec/taskenv"

func (t *task) newEnv() *taskenv.Builder {
	a := t.alloc.cfg
	info := taskenv.AllocInfo{ID: a.Alloc.ID, Name: a.Alloc.Name, Index: a.Index}
	return taskenv.NewBuilder(a.Node, info, a.Job, a.Group, t.spec()).
		SetClientDir(a.Dir).
		SetHostEnv(a.HostEnv).
		SetPorts(a.Ports)
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
