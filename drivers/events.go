package drivers

import (
	"context"
	"time"
)

// EventSource is a driver that has something to say of its tasks while it
// works on them, such as how far the download of an image is.
type EventSource interface {
	// TaskEvents sends what happens to tasks from now on, until ctx ends, when
	// the channel is closed. It may be called many times: everybody gets every
	// event, and who does not take one within 2 seconds loses it. See package
	// eventer for how that is done.
	TaskEvents(ctx context.Context) (<-chan TaskEvent, error)
}

// TaskEvent is something that happened to a task. It becomes an event of the
// task with the type "Driver", unless it is a Progress.
type TaskEvent struct {
	AllocID     string
	TaskName    string
	TaskID      string // as in TaskConfig; may be empty while the task is made
	Timestamp   time.Time
	Message     string
	Annotations map[string]string // become details of the event
	Err         error             // what went wrong, if anything did

	// Progress, when set, is all there is: a word to whoever watches the run
	// just now.
	Progress *Progress
}

// Progress is how far a download is.
type Progress struct {
	What        string // is downloaded; what is told of the same again replaces it
	Done, Total int64  // bytes; Total is 0 or less while it is not known
	Detail      string // such as "2 of 5 layers"; may be empty
	Over        bool   // it has ended, one way or the other
}
