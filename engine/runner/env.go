package runner

import (
	"sync/atomic"

	"taskrun/jobspec/taskenv"
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
		e.change().SetTemplateEnv(*env)
	}
	if e.built == nil {
		e.built = e.builder.Build()
	}
	return e.built
}
