package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// frameSize limits the bytes of output in a frame.
const frameSize = 64 << 10

// Logs answers GET /v1/client/fs/logs/:id with frames, or with the plain output. A
// stream that follows a task continues after the end of the task. It ends with the
// server, without a final frame, because clients would take that for a stream that
// continues. If rotation was faster than the client, a frame says how many bytes
// are missing.
func (h *Handler) Logs(r *rest.Request) error {
	q, err := h.logsQuery(r)
	if err != nil {
		return err
	}
	if q.disabled {
		return h.memoryLogs(r, q)
	}
	var sub *event.Subscription
	if q.follow {
		sub = h.engine.SubscribeTo(q.includes) // before the first read, so that no change is missed
		defer sub.Close()
	}
	reader, err := tasklog.OpenReader(q.dir, q.task, q.stream, q.offset, q.whence)
	if err != nil {
		return rest.Fail(http.StatusNotFound, "log entry for task %q and log type %q not found", q.task, q.stream)
	}
	defer func() { _ = reader.Close() }()
	var wake <-chan struct{}
	if q.follow {
		var stop func()
		wake, stop = wakeups(sub, reader.Hold)
		defer stop()
	}
	out := logStream{Frames: r.Frames(q.plain)}
	out.End(out.copy(r.Context(), reader, wake), q.follow)
	return nil
}

// logStream sends output to a client.
type logStream struct {
	*rest.Frames
	skipped int64 // omitted bytes that were reported
}

// copy writes the available output and, if wake is not nil, later output until
// ctx ends. A slow reader reads old output, and delays nothing.
func (o *logStream) copy(ctx context.Context, r *tasklog.Reader, wake <-chan struct{}) error {
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
			last = true // after the output written so far
		}
	}
}

// piece writes a piece that a reader has read.
func (o *logStream) piece(p []byte, r *tasklog.Reader) error {
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
