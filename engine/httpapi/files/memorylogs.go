package files

import (
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// memoryLogs follows an output that is not written to disk, from now on.
func (h *Handler) memoryLogs(r *rest.Request, q logsQuery) error {
	sub := h.engine.SubscribeTo(q.includes)
	defer sub.Close()
	out := r.Frames(q.plain)
	err := out.Flush()
	for err == nil {
		e, ok := sub.Next(r.Context())
		if !ok {
			break
		}
		if err = pass(out, e.Body); err == nil && !sub.Ready() {
			err = out.Flush()
		}
	}
	out.End(err, true)
	return nil
}

// pass writes a piece of output from memory, or a note that it is left out.
func pass(out *rest.Frames, body event.Body) error {
	var f api.StreamFrame
	if err := fill(&f, body); err != nil {
		return err
	}
	return out.Write(&f)
}

// fill puts a piece of output from memory into a frame, or a note that it is left out.
func fill(f *api.StreamFrame, body event.Body) error {
	switch body := body.(type) {
	case event.Output:
		f.Data = make([]byte, body.Length)
		_, err := body.Source.ReadAt(f.Data, body.Offset)
		switch {
		case errors.Is(err, event.ErrOverwritten):
			f.Data, f.FileEvent = nil, leftOut(body.Length)
		case err != nil:
			return fmt.Errorf("cannot read output: %w", err)
		}
	case event.Gap:
		f.FileEvent = leftOut(body.Bytes)
	}
	return nil
}

// leftOut returns the event of a frame after a gap.
func leftOut(bytes int64) string {
	return fmt.Sprintf("%d bytes before these are left out: the reader was too slow", bytes)
}
