package docker

import (
	"errors"

	"taskrun/drivers"
	"taskrun/drivers/eventer"
)

// emitter tells what happens to tasks.
type emitter struct{ eventer.Eventer }

// emit tells something that happens to a task.
func (e *emitter) emit(cfg *drivers.TaskConfig, message string, annotations map[string]string, failures ...error) {
	e.Emit(drivers.TaskEvent{
		AllocID: cfg.AllocID, TaskName: cfg.Name, TaskID: cfg.ID,
		Message: message, Annotations: annotations, Err: errors.Join(failures...),
	})
}

// emitLive tells how far a download for a task is, to whoever watches.
func (e *emitter) emitLive(cfg *drivers.TaskConfig, p drivers.Progress) {
	e.Emit(drivers.TaskEvent{AllocID: cfg.AllocID, TaskName: cfg.Name, TaskID: cfg.ID, Progress: &p})
}
