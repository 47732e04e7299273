package docker

import (
	"errors"

	"taskrun/drivers"
)

// emit tells something that happens to a task.
func (d *Driver) emit(cfg *drivers.TaskConfig, message string, annotations map[string]string, failures ...error) {
	d.Emit(drivers.TaskEvent{
		AllocID: cfg.AllocID, TaskName: cfg.Name, TaskID: cfg.ID,
		Message: message, Annotations: annotations, Err: errors.Join(failures...),
	})
}

// emitLive tells how far a download for a task is, to whoever watches.
func (d *Driver) emitLive(cfg *drivers.TaskConfig, p drivers.Progress) {
	d.Emit(drivers.TaskEvent{AllocID: cfg.AllocID, TaskName: cfg.Name, TaskID: cfg.ID, Progress: &p})
}
