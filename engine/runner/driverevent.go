package runner

import (
	"maps"
	"strings"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// DriverEvent adds what its driver says of a task to the task's events. What
// it says of a task that is not of this allocation is dropped.
func (a *Alloc) DriverEvent(e drivers.TaskEvent) {
	t := a.task(e.TaskName)
	if t == nil {
		return
	}
	if e.Progress != nil {
		a.publishNow(e.Timestamp, t.name, event.Progress(*e.Progress))
		return
	}
	message, details := e.Message, maps.Clone(e.Annotations)
	if e.Err != nil {
		if details == nil {
			details = map[string]string{}
		}
		details["driver_error"] = e.Err.Error()
		if !strings.Contains(message, e.Err.Error()) {
			message += ": " + e.Err.Error()
		}
	}
	told := event.Driver(message, details)
	if !e.Timestamp.IsZero() {
		told.Time = e.Timestamp.UnixNano()
	}
	t.emit(told)
}
