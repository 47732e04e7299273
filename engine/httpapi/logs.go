package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/allocdir"
	"taskrun/engine/event"
	"taskrun/engine/tasklog"
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
}

// logs answers GET /v1/client/fs/logs/:id with frames, or with the plain
// output. A stream that follows a task outlives it and ends with the server:
// without an end, since clients take one for more to come.
func (s *Server) logs(w http.ResponseWriter, r *request) error {
	q, err := s.logsQuery(r)
	if err != nil {
		return err
	}
	var wake <-chan struct{}
	if q.follow {
		// Before the first reading, so that nothing falls between the two.
		var leave func()
		wake, leave = s.outputs.follow(q.outputKey)
		defer leave()
	}
	reader, err := tasklog.OpenReader(q.dir, q.task, q.stream, q.offset, q.whence)
	if err != nil {
		return fail(http.StatusNotFound, "log entry for task %q and log type %q not found", q.task, q.stream)
	}
	defer reader.Close()

	w.Header().Set("X-Content-Type-Options", "nosniff")
	out := logWriter{w: w, control: http.NewResponseController(w), plain: q.plain}
	if q.plain {
		w.Header().Set("Content-Type", "text/plain")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	if err := out.copy(r.Context(), reader, wake); err != nil || q.follow && !q.plain {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	return nil
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
	if c := tasks[i].LogConfig; c != nil && c.Disabled != nil && *c.Disabled {
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
	return o.frame(&api.StreamFrame{Data: p, File: path.Join("alloc", "logs", name), Offset: offset})
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
