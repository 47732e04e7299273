package node

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

const (
	// monitorPiece is how many bytes of the log a frame carries at most.
	monitorPiece = 1024
	// monitored is how many lines wait for a client that does not read; of
	// later ones it gets the number.
	monitored = 512
)

// Monitor answers GET /v1/agent/monitor: a log of what happens from now on, as
// frames or plain text.
func (h *Handler) Monitor(r *rest.Request) error {
	format, err := h.logFormat(r)
	if err != nil {
		return err
	}
	plain, err := r.Flag("plain")
	if err != nil {
		return err
	}
	out := r.Frames(plain)
	lines, stop := h.follow(r.Context(), format)
	defer stop()
	out.End(copyLines(r.Context(), out, lines), false)
	return nil
}

// logFormat returns how a client wants to have the log.
func (h *Handler) logFormat(r *rest.Request) (f logFormat, err error) {
	level := r.Query.Get("log_level")
	if level == "" {
		level = "info"
	}
	var known bool
	if f.least, known = levels[strings.ToLower(level)]; !known {
		return f, rest.Fail(http.StatusBadRequest, "Unknown log level: %s", level)
	}
	if id := r.Query.Get("node_id"); id != "" && id != h.run.Machine.ID {
		return f, rest.Fail(http.StatusNotFound, "Unknown node %q", id)
	}
	if id := r.Query.Get("server_id"); id != "" && id != "leader" && id != h.run.Machine.Name {
		return f, rest.Fail(http.StatusBadRequest, "unknown Nomad server %s", id)
	}
	if f.json, err = r.Flag("log_json"); err != nil {
		return f, err
	}
	return f, nil
}

// follow has what happens written as lines until stop. Who does not read them
// loses some, and nobody waits for him.
func (h *Handler) follow(ctx context.Context, format logFormat) (lines <-chan []byte, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	sub := h.run.Engine.Subscribe(false)
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

// copyLines writes the lines of a log until ctx ends.
func copyLines(ctx context.Context, out *rest.Frames, lines <-chan []byte) error {
	heartbeat := time.NewTicker(rest.BeatTime)
	defer heartbeat.Stop()
	if err := out.Flush(); err != nil {
		return err
	}
	for {
		select {
		case line := <-lines:
			if err := errors.Join(logged(out, line), out.Flush()); err != nil {
				return err
			}
		case <-heartbeat.C:
			if err := out.Beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// logged writes a line of the log.
func logged(out *rest.Frames, line []byte) error {
	piece := monitorPiece
	if out.Plain {
		piece = len(line)
	}
	for part := range slices.Chunk(line, piece) {
		if err := out.Write(&api.StreamFrame{Data: part, FileEvent: "log"}); err != nil {
			return err
		}
	}
	return nil
}
