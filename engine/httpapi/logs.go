package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// frameSize is how many bytes of output a frame carries at most.
const frameSize = 64 << 10

// heartbeatTime is the time between the empty frames by which a client sees
// that a stream still lives.
const heartbeatTime = time.Second

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

// logs answers GET /v1/client/fs/logs/:id with frames, or with the plain
// output. A stream that follows a task outlives it and ends with the server:
// without an end, since clients take one for more to come. Where rotation was
// faster than the client a frame says how much is left out.
func (s *Server) logs(w http.ResponseWriter, r *request) error {
	q, err := s.logsQuery(r)
	if err != nil {
		return err
	}
	out := logWriter{w: w, control: http.NewResponseController(w), plain: q.plain}
	if q.disabled {
		return s.memoryLogs(&out, r, q)
	}
	if q.silent {
		out.begin(w.Header())
		out.end(s.ring(&out, r, q.outputKey), true)
		return nil
	}
	var follower *outputFollower
	if q.follow {
		// Before the first reading, so that nothing falls between the two.
		follower = s.outputs.follow(q.outputKey)
	}
	reader, err := tasklog.OpenReader(q.dir, q.task, q.stream, q.offset, q.whence)
	defer func() {
		if follower != nil {
			s.outputs.leave(q.outputKey, follower)
		}
		if reader != nil {
			_ = reader.Close()
		}
	}()
	if err != nil {
		return fail(http.StatusNotFound, "log entry for task %q and log type %q not found", q.task, q.stream)
	}
	var wake <-chan struct{}
	if follower != nil {
		s.outputs.holds(follower, reader.Hold)
		wake = follower.wake
	}
	out.begin(w.Header())
	out.end(out.copy(r.Context(), reader, wake), q.follow)
	return nil
}

// written is the event of a frame that says no more than that output was
// written.
const written = "file written"

// ring answers a silent request, of somebody who reads the files himself. It
// is no part of Nomad's API.
func (s *Server) ring(out *logWriter, r *request, key outputKey) error {
	follower := s.outputs.follow(key)
	defer s.outputs.leave(key, follower)
	heartbeat := time.NewTicker(heartbeatTime)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-follower.wake:
			err = out.frame(&api.StreamFrame{FileEvent: written})
		case <-heartbeat.C:
			err = out.beat()
		case <-r.Context().Done():
			return nil
		}
		if err = errors.Join(err, out.control.Flush()); err != nil {
			return err
		}
	}
}

// begin tells what comes.
func (o *logWriter) begin(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	if o.plain {
		h.Set("Content-Type", "text/plain")
	} else {
		h.Set("Content-Type", "application/json")
	}
}

// end cuts the connection where an end would be none.
func (o *logWriter) end(err error, followed bool) {
	if err != nil || followed && !o.plain {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) logsQuery(r *request) (q logsQuery, err error) {
	q.alloc, q.task = r.id, r.query.Get("task")
	if q.task == "" {
		return q, fail(http.StatusBadRequest, "must provide task name")
	}
	switch r.query.Get("type") {
	case "stdout":
	case "stderr":
		q.stream = event.Stderr
	default:
		return q, fail(http.StatusBadRequest, "must provide log type (stdout/stderr)")
	}
	if q.follow, err = r.flag("follow"); err != nil {
		return q, err
	}
	if q.plain, err = r.flag("plain"); err != nil {
		return q, err
	}
	if q.silent, err = r.flag("silent"); err != nil {
		return q, err
	}
	if q.silent && (q.plain || !q.follow) {
		return q, fail(http.StatusBadRequest, "silent goes together with follow, and not with plain")
	}
	if raw := r.query.Get("offset"); raw != "" {
		if q.offset, err = strconv.ParseInt(raw, 10, 64); err != nil {
			return q, fail(http.StatusBadRequest, "error parsing offset: %v", err)
		}
	}
	switch r.query.Get("origin") {
	case "", "start":
	case "end":
		q.whence = io.SeekEnd
	default:
		return q, fail(http.StatusBadRequest, "origin must be start or end")
	}
	return q, s.findLogs(&q)
}

// findLogs finds the files of a task that has started. The name of the task
// becomes part of a file's name only when the job has such a task.
func (s *Server) findLogs(q *logsQuery) error {
	a, ok := s.engine.Alloc(q.alloc)
	if !ok {
		return unknownAlloc(q.alloc)
	}
	state, ok := a.Tasks[q.task]
	if !ok {
		return fail(http.StatusBadRequest, "unknown task name %q", q.task)
	}
	if state.StartedAt.IsZero() {
		return fail(http.StatusNotFound, "task %q not started yet. No logs available", q.task)
	}
	tasks := a.Job.LookupTaskGroup(a.Group).Tasks
	i := slices.IndexFunc(tasks, func(t *api.Task) bool { return t.Name == q.task })
	c := tasks[i].LogConfig
	q.disabled = c != nil && c.Disabled != nil && *c.Disabled
	if q.disabled && !q.follow {
		return fail(http.StatusNotFound, "log entry for task %q and log type %q not found: the job disables logs", q.task, q.stream)
	}
	q.dir = allocdir.SharedOf(a.Dir).Logs
	return nil
}

// logWriter writes output to a client.
type logWriter struct {
	w       io.Writer
	control *http.ResponseController
	plain   bool
	skipped int64 // how much is left out, as was said
}

// copy writes what there is and, with a wake, what is still to come until ctx
// ends. Whoever reads slowly reads old output, and holds nobody up.
func (o *logWriter) copy(ctx context.Context, r *tasklog.Reader, wake <-chan struct{}) error {
	heartbeat := time.NewTicker(heartbeatTime)
	defer heartbeat.Stop()
	buf := make([]byte, frameSize)
	for last := wake == nil; ; {
		n, err := r.Read(buf)
		if n > 0 {
			if err := o.write(buf[:n], r); err != nil {
				return err
			}
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := o.control.Flush(); err != nil || last {
			return err
		}
		select {
		case <-wake:
		case <-heartbeat.C:
			if err := o.beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			last = true // what was written until now
		}
	}
}

func (o *logWriter) write(p []byte, r *tasklog.Reader) error {
	if o.plain {
		_, err := o.w.Write(p)
		return err
	}
	name, offset := r.Position()
	f := &api.StreamFrame{Data: p, File: path.Join("alloc", "logs", name), Offset: offset}
	if skipped := r.Skipped(); skipped > o.skipped {
		f.FileEvent = leftOut(skipped - o.skipped)
		o.skipped = skipped
	}
	return o.frame(f)
}

func (o *logWriter) beat() error {
	if o.plain {
		return nil
	}
	return o.frame(&api.StreamFrame{})
}

func (o *logWriter) frame(f *api.StreamFrame) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = o.w.Write(body)
	return err
}

// leftOut says that a frame is not the one that follows the frame before.
func leftOut(bytes int64) string {
	return fmt.Sprintf("%d bytes before these are left out: the reader was too slow", bytes)
}
