package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// frameSize is how many bytes of output a frame carries at most.
const frameSize = 64 << 10

// logsQuery is what a client wants to read.
type logsQuery struct {
	outputKey
	dir           string // where the files are
	offset        int64
	whence        int
	follow, plain bool
	silent        bool // of what is in files no more is told than that there is some
	disabled      bool // there are no files
}

// Logs answers GET /v1/client/fs/logs/:id with frames, or with the plain
// output. A stream that follows a task outlives it and ends with the server:
// without an end, since clients take one for more to come. Where rotation was
// faster than the client a frame says how much is left out.
func (h *Handler) Logs(r *rest.Request) error {
	q, err := h.logsQuery(r)
	if err != nil {
		return err
	}
	if q.disabled {
		return h.memoryLogs(r, q)
	}
	if q.silent {
		out := r.Frames(false)
		out.End(h.ring(out, r, q.outputKey), true)
		return nil
	}
	var follower *outputFollower
	if q.follow {
		// Before the first reading, so that nothing falls between the two.
		follower = h.outputs.follow(q.outputKey)
	}
	reader, err := tasklog.OpenReader(q.dir, q.task, q.stream, q.offset, q.whence)
	defer func() {
		if follower != nil {
			h.outputs.leave(q.outputKey, follower)
		}
		if reader != nil {
			_ = reader.Close()
		}
	}()
	if err != nil {
		return rest.Fail(http.StatusNotFound, "log entry for task %q and log type %q not found", q.task, q.stream)
	}
	var wake <-chan struct{}
	if follower != nil {
		h.outputs.holds(follower, reader.Hold)
		wake = follower.wake
	}
	out := output{Frames: r.Frames(q.plain)}
	out.End(out.copy(r.Context(), reader, wake), q.follow)
	return nil
}

// written is the event of a frame that says no more than that output was
// written.
const written = "file written"

// ring answers a silent request, of somebody who reads the files himself. It
// is no part of Nomad's API.
func (h *Handler) ring(out *rest.Frames, r *rest.Request, key outputKey) error {
	follower := h.outputs.follow(key)
	defer h.outputs.leave(key, follower)
	heartbeat := time.NewTicker(rest.BeatTime)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-follower.wake:
			err = errors.Join(out.Write(&api.StreamFrame{FileEvent: written}), out.Flush())
		case <-heartbeat.C:
			err = out.Beat()
		case <-r.Context().Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

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
	if q.silent, err = r.Flag("silent"); err != nil {
		return q, err
	}
	if q.silent && (q.plain || !q.follow) {
		return q, rest.Fail(http.StatusBadRequest, "silent goes together with follow, and not with plain")
	}
	if q.offset, err = r.Number("offset"); err != nil {
		return q, err
	}
	switch r.Query.Get("origin") {
	case "", "start":
	case "end":
		q.whence = io.SeekEnd
	default:
		return q, rest.Fail(http.StatusBadRequest, "origin must be start or end")
	}
	return q, h.findLogs(&q)
}

// findLogs finds the files of a task that has started. The name of the task
// becomes part of a file's name only when the job has such a task.
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
	tasks := a.Job.LookupTaskGroup(a.Group).Tasks
	i := slices.IndexFunc(tasks, func(t *api.Task) bool { return t.Name == q.task })
	c := tasks[i].LogConfig
	q.disabled = c != nil && c.Disabled != nil && *c.Disabled
	if q.disabled && !q.follow {
		return rest.Fail(http.StatusNotFound, "log entry for task %q and log type %q not found: the job disables logs", q.task, q.stream)
	}
	q.dir = allocdir.SharedOf(a.Dir).Logs
	return nil
}

// output is sent to a client.
type output struct {
	*rest.Frames
	skipped int64 // how much is left out, as was said
}

// copy writes what there is and, with a wake, what is still to come until ctx
// ends. Whoever reads slowly reads old output, and holds nobody up.
func (o *output) copy(ctx context.Context, r *tasklog.Reader, wake <-chan struct{}) error {
	heartbeat := time.NewTicker(rest.BeatTime)
	defer heartbeat.Stop()
	buf := make([]byte, frameSize)
	for last := wake == nil; ; {
		n, err := r.Read(buf)
		if n > 0 {
			if err := o.piece(buf[:n], r); err != nil {
				return err
			}
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := o.Flush(); err != nil || last {
			return err
		}
		select {
		case <-wake:
		case <-heartbeat.C:
			if err := o.Beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			last = true // what was written until now
		}
	}
}

// piece writes what a reader has read.
func (o *output) piece(p []byte, r *tasklog.Reader) error {
	f := &api.StreamFrame{Data: p}
	if !o.Plain {
		name, offset := r.Position()
		f.File, f.Offset = path.Join("alloc", "logs", name), offset
		if skipped := r.Skipped(); skipped > o.skipped {
			f.FileEvent = leftOut(skipped - o.skipped)
			o.skipped = skipped
		}
	}
	return o.Write(f)
}

// leftOut says that a frame is not the one that follows the frame before.
func leftOut(bytes int64) string {
	return fmt.Sprintf("%d bytes before these are left out: the reader was too slow", bytes)
}
