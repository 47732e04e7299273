package runner

import (
	"sync/atomic"

	"taskrun/jobspec/taskenv"
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
