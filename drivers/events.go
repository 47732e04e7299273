package drivers

import (
	"context"
	"time"
)

// EventSource is a driver that reports events of its tasks, such as the progress
// of a download.
type EventSource interface {
	// TaskEvents sends the events of all tasks from now on, until ctx ends.
	// Then the channel is closed. Every caller gets every event, but a slow
	// reader may lose some. Package eventer implements it.
	TaskEvents(ctx context.Context) (<-chan TaskEvent, error)
}

// TaskEvent is an event of a task, with the type "Driver", or a Progress.
type TaskEvent struct {
	AllocID     string
	TaskName    string
	Timestamp   time.Time
	Message     string
	Annotations map[string]string // details of the event
	Err         error             // nil unless something failed

	// Progress, if set, is only for live views.
	Progress *Progress
}

// Progress is the progress of a download.
type Progress struct {
	What        string // name of the download; a later Progress with the same name replaces this one
	Done, Total int64  // bytes; Total is 0 or less while it is not known
	Detail      string // such as "2 of 5 layers"; may be empty
	Over        bool   // it succeeded or failed
}
