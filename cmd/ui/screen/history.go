package screen

import (
	"strconv"
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// history holds the past of the run.
type history struct {
	run   *fold.Run
	trace *trace.Builder
	zone  *time.Location // of the times that are shown
	now   time.Time
	ended string // how the run ended; empty: it has not
}

// local returns a time as it is shown.
func (h *history) local(t time.Time) time.Time { return t.In(h.zone) }

func (h *history) traced() *trace.Trace {
	if h.ended != "" {
		return h.trace.Trace(time.Time{})
	}
	return h.trace.Trace(h.now)
}

// labelOf returns the name of a task for its output.
func (h *history) labelOf(t Target) string {
	a := h.run.Find(t.Alloc)
	if a == nil {
		return t.Task
	}
	return h.allocLabel(a) + "/" + t.Task
}

// allocLabel returns the name of an allocation, with its job if there are several.
func (h *history) allocLabel(a *fold.Alloc) string {
	label := a.Group + "[" + strconv.Itoa(a.Index()) + "]"
	if len(h.run.Jobs) > 1 {
		label = event.JobName(a.Job) + "/" + label
	}
	return label
}
