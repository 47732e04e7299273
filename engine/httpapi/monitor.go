package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

const (
	// monitorPiece is how many bytes of the log a frame carries at most.
	monitorPiece = 1024
	// monitored is how many lines wait for a client that does not read; of
	// later ones it gets the number.
	monitored = 512
)

// monitor answers GET /v1/agent/monitor: a log of what happens from now on, as
// frames or plain text.
func (s *Server) monitor(w http.ResponseWriter, r *request) error {
	format, err := s.logFormat(r)
	if err != nil {
		return err
	}
	plain, err := r.flag("plain")
	if err != nil {
		return err
	}
	out := logWriter{w: w, control: http.NewResponseController(w), plain: plain}
	if plain {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Content-Type-Options", "nosniff")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	lines, stop := s.follow(r.Context(), format)
	defer stop()
	if err := out.monitor(r.Context(), lines); err != nil {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	return nil
}

// logFormat returns how a client wants to have the log.
func (s *Server) logFormat(r *request) (f logFormat, err error) {
	level := r.query.Get("log_level")
	if level == "" {
		level = "info"
	}
	var known bool
	if f.least, known = levels[strings.ToLower(level)]; !known {
		return f, fail(http.StatusBadRequest, "Unknown log level: %s", level)
	}
	if id := r.query.Get("node_id"); id != "" && id != s.cfg.Node.ID {
		return f, fail(http.StatusNotFound, "Unknown node %q", id)
	}
	if id := r.query.Get("server_id"); id != "" && id != "leader" && id != s.cfg.Node.Name {
		return f, fail(http.StatusBadRequest, "unknown Nomad server %s", id)
	}
	if f.json, err = r.flag("log_json"); err != nil {
		return f, err
	}
	return f, nil
}

// follow has what happens written as lines until stop. Who does not read them
// loses some, and nobody waits for him.
func (s *Server) follow(ctx context.Context, format logFormat) (lines <-chan []byte, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	sub := s.engine.Subscribe(false)
	written, ended := make(chan []byte, monitored), make(chan struct{})
	go func() {
		defer close(ended)
		defer sub.Close()
		lost := 0
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			line := format.line(e)
			if lost > 0 && len(written) < monitored-1 {
				written <- format.lost(lost)
				lost = 0
			}
			if line == nil {
				continue
			}
			select {
			case written <- line:
			default:
				lost++
			}
		}
	}()
	return written, func() {
		cancel()
		<-ended
	}
}

func (o *logWriter) monitor(ctx context.Context, lines <-chan []byte) error {
	heartbeat := time.NewTicker(heartbeatTime)
	defer heartbeat.Stop()
	if err := o.control.Flush(); err != nil {
		return err
	}
	for {
		select {
		case line := <-lines:
			if err := errors.Join(o.logged(line), o.control.Flush()); err != nil {
				return err
			}
		case <-heartbeat.C:
			if err := errors.Join(o.beat(), o.control.Flush()); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// logged writes a line of the log.
func (o *logWriter) logged(line []byte) error {
	if o.plain {
		_, err := o.w.Write(line)
		return err
	}
	for len(line) > 0 {
		n := min(len(line), monitorPiece)
		if err := o.frame(&api.StreamFrame{Data: line[:n], FileEvent: "log"}); err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// said is what a line of the log says.
type said struct {
	level  string
	module string
	text   string
	pairs  []string // names and values
}

// words puts an event into words; of some there is nothing to say.
func words(e event.Event) (s said, ok bool) {
	s = said{level: "debug", module: "client.alloc_runner"}
	if e.Alloc != nil {
		s.pairs = []string{"alloc_id", e.Alloc.ID}
	}
	if e.Task != "" {
		s.module, s.pairs = "client.alloc_runner.task_runner", append(s.pairs, "task", e.Task)
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		s.level, s.text = "info", "Task event"
		if event.Fails(body.TaskEvent) {
			s.level = "error"
		}
		s.pairs = append(s.pairs, "type", body.Type, "msg", body.DisplayMessage)
	case event.TaskState:
		s.text, s.pairs = "task state", append(s.pairs, "state", body.State)
	case event.AllocStatus:
		s.text, s.pairs = "allocation status", append(s.pairs, "status", body.Status, "description", body.Description)
	case event.AllocHealth:
		s.text = "allocation is unhealthy"
		if body.Healthy {
			s.text = "allocation is healthy"
		}
	case event.Deployment:
		s.module, s.text = "nomad.deployments_watcher", body.Description
		s.pairs = []string{"job", body.Job, "deployment_id", body.ID, "status", body.Status}
	case event.Service:
		s.text = "service deregistered"
		if body.Registered {
			s.text = "service registered"
		}
		s.pairs = append(s.pairs, "service", body.Name, "id", body.ID)
	case event.Check:
		s.text, s.pairs = "check", append(s.pairs, "service", body.Service, "check", body.Check, "status", body.Status)
	case event.Notice:
		s.level, s.module, s.text = "info", "taskrun", body.Text
	default: // output
		return s, false
	}
	return s, true
}
