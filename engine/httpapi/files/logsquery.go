package files

import (
	"io"
	"net/http"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
)

// logsQuery describes the output that a client wants.
type logsQuery struct {
	outputKey
	dir           string // directory of the files
	offset        int64
	whence        int
	follow, plain bool
	disabled      bool // there are no files
}

// logsQuery parses the parameters of a request.
func (h *Handler) logsQuery(r *rest.Request) (q logsQuery, err error) {
	q.alloc, q.task = r.ID, r.Query.Get("task")
	if q.task == "" {
		return q, rest.Fail(http.StatusBadRequest, "must provide task name")
	}
	switch r.Query.Get("type") {
	case "stdout":
	case "stderr":
		q.stream = event.Stderr
	default:
		return q, rest.Fail(http.StatusBadRequest, "must provide log type (stdout/stderr)")
	}
	if q.follow, err = r.Flag("follow"); err != nil {
		return q, err
	}
	if q.plain, err = r.Flag("plain"); err != nil {
		return q, err
	}
	if q.offset, err = r.Number("offset"); err != nil {
		return q, err
	}
	fromEnd, err := r.FromEnd()
	if err != nil {
		return q, err
	}
	if fromEnd {
		q.whence = io.SeekEnd
	}
	return q, h.findLogs(&q)
}

// findLogs finds the files of a task that has started. It uses the task's name
// in file names only if the job has such a task.
func (h *Handler) findLogs(q *logsQuery) error {
	a, ok := h.engine.Alloc(q.alloc)
	if !ok {
		return rest.UnknownAlloc(q.alloc)
	}
	state, ok := a.Tasks[q.task]
	if !ok {
		return rest.Fail(http.StatusBadRequest, "unknown task name %q", q.task)
	}
	if state.StartedAt.IsZero() {
		return rest.Fail(http.StatusNotFound, "task %q not started yet. No logs available", q.task)
	}
	q.disabled = logsDisabled(a, q.task)
	if q.disabled && !q.follow {
		return rest.Fail(http.StatusNotFound, "log entry for task %q and log type %q not found: the job disables logs", q.task, q.stream)
	}
	q.dir = allocdir.SharedOf(a.Dir).Logs
	return nil
}

// logsDisabled reports whether the job says that the output of a task is not kept.
func logsDisabled(a engine.Alloc, task string) bool {
	return slices.ContainsFunc(a.Job.LookupTaskGroup(a.Group).Tasks, func(t *api.Task) bool {
		return t.Name == task && t.LogConfig != nil && t.LogConfig.Disabled != nil && *t.LogConfig.Disabled
	})
}
