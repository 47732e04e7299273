package node

import (
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"taskrun/engine/leaf/event"
)

// eventLog writes events and requests in the form of a Nomad agent's log. Its
// methods are safe for concurrent use.
type eventLog struct {
	mu     sync.Mutex
	logger hclog.Logger
	at     time.Time // time of the current line
}

// newEventLog returns a log of the events from a level on. It writes each line
// with one call.
func newEventLog(out io.Writer, level hclog.Level, json bool) *eventLog {
	l := &eventLog{}
	l.logger = hclog.New(&hclog.LoggerOptions{
		Output: out, Level: level, JSONFormat: json, TimeFn: func() time.Time { return l.at.UTC() },
	})
	return l
}

// write writes an event. Output and progress are not part of the log.
func (l *eventLog) write(e event.Event) {
	module, level, text := "client.alloc_runner", hclog.Debug, ""
	var pairs []any // alternating names and values
	if e.Alloc != nil {
		pairs = []any{"alloc_id", e.Alloc.ID}
	}
	if e.Task != "" {
		module, pairs = "client.alloc_runner.task_runner", append(pairs, "task", e.Task)
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		level, text = hclog.Info, "Task event"
		if event.Fails(body.TaskEvent) {
			level = hclog.Error
		}
		pairs = append(pairs, "type", body.Type, "msg", body.DisplayMessage)
	case event.TaskState:
		text, pairs = "task state", append(pairs, "state", body.State)
	case event.AllocStatus:
		text, pairs = "allocation status", append(pairs, "status", body.Status, "description", body.Description)
	case event.AllocHealth:
		text = "allocation is unhealthy"
		if body.Healthy {
			text = "allocation is healthy"
		}
	case event.Deployment:
		module, text = "nomad.deployments_watcher", body.Description
		pairs = []any{"job", body.Job, "deployment_id", body.ID, "status", body.Status}
	case event.Service:
		text = "service deregistered"
		if body.Registered {
			text = "service registered"
		}
		pairs = append(pairs, "service", body.Name, "id", body.ID)
	case event.Check:
		text, pairs = "check", append(pairs, "service", body.Service, "check", body.Check, "status", body.Status)
	case event.Notice:
		module, level, text = "taskrun", hclog.Info, body.Text
	default:
		return
	}
	l.line(e.Time, module, level, text, pairs...)
}

// request writes a request that has ended.
func (l *eventLog) request(at time.Time, method, path string, took time.Duration) {
	l.line(at, "http", hclog.Debug, "request complete", "method", method, "path", path, "duration", took.String())
}

func (l *eventLog) line(at time.Time, module string, level hclog.Level, text string, pairs ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = at
	l.logger.Named(module).Log(level, text, pairs...)
}

// lost writes how many lines a client has missed.
func (l *eventLog) lost(n int64) {
	l.line(time.Now(), "taskrun", hclog.Warn, "Monitor dropped logs during monitor request", "count", strconv.FormatInt(n, 10))
}
