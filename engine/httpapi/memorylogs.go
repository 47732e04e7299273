package httpapi

import (
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// memoryLogs follows an output that the job keeps off the disk: what comes from
// now on.
func (s *Server) memoryLogs(out *logWriter, r *request, q logsQuery) error {
	sub := s.engine.SubscribeTo(func(e event.Event) bool {
		if e.Alloc == nil || e.Alloc.ID != q.alloc || e.Task != q.task {
			return false
		}
		out, ok := e.Body.(event.Output)
		return ok && out.Stream == q.stream
	})
	defer sub.Close()
	out.begin(r.header)
	err := out.control.Flush()
	for err == nil {
		e, ok := sub.Next(r.Context())
		if !ok {
			break
		}
		if err = out.pass(e.Body); err == nil && !sub.Ready() {
			err = out.control.Flush()
		}
	}
	out.end(err, true)
	return nil
}

// pass writes a piece of output from memory, or that it is left out.
func (o *logWriter) pass(body event.Body) error {
	var f api.StreamFrame
	switch body := body.(type) {
	case event.Output:
		f.Data = make([]byte, body.Length)
		_, err := body.Source.ReadAt(f.Data, body.Offset)
		switch {
		case errors.Is(err, event.ErrOverwritten):
			f = api.StreamFrame{FileEvent: leftOut(body.Length)}
		case err != nil:
			return fmt.Errorf("cannot read output: %w", err)
		}
	case event.Gap:
		f.FileEvent = leftOut(body.Bytes)
	}
	if o.plain {
		_, err := o.w.Write(f.Data)
		return err
	}
	return o.frame(&f)
}
