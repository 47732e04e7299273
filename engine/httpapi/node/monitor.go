package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

const (
	// monitorPiece limits the bytes of the log in a frame.
	monitorPiece = 1024
	// monitored is how many lines are queued for a slow client. Later ones are
	// only counted.
	monitored = 512
)

// Monitor answers GET /v1/agent/monitor: a log of events and requests from now
// on, as frames or plain text.
func (h *Handler) Monitor(r *rest.Request) error {
	level := hclog.LevelFromString(cmp.Or(r.Query.Get("log_level"), "info"))
	node, server := r.Query.Get("node_id"), r.Query.Get("server_id")
	switch {
	case level == hclog.NoLevel:
		return rest.Fail(http.StatusBadRequest, "Unknown log level: %s", r.Query.Get("log_level"))
	case node != "" && server != "":
		return rest.Fail(http.StatusBadRequest, "Cannot target node and server simultaneously")
	case node != "" && node != h.run.Machine.ID:
		return rest.Fail(http.StatusNotFound, "Unknown node %q", node)
	case server != "" && server != "leader" && server != h.run.Machine.Name && server != h.member().Name:
		return rest.Fail(http.StatusBadRequest, "unknown Nomad server %s", server)
	}
	asJSON, err := r.Flag("log_json")
	if err != nil {
		return err
	}
	plain, err := r.Flag("plain")
	if err != nil {
		return err
	}
	out := r.Frames(plain)
	lines, stop := h.follow(r.Context(), level, asJSON)
	defer stop()
	out.End(copyLines(r.Context(), out, lines), false)
	return nil
}

// queue is a writer of lines that never blocks: it counts lines without room.
type queue struct {
	lines chan []byte
	lost  atomic.Int64
}

func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

// follow writes events and requests as lines until stop. A slow client loses
// lines and delays nothing.
func (h *Handler) follow(ctx context.Context, level hclog.Level, asJSON bool) (lines <-chan []byte, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	sub := h.run.Engine.Subscribe(false)
	out, ended := &queue{lines: make(chan []byte, monitored)}, make(chan struct{})
	log := newEventLog(out, level, asJSON)
	go func() {
		defer close(ended)
		defer sub.Close()
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			if lost := out.lost.Load(); lost > 0 && len(out.lines) < monitored-1 {
				out.lost.Add(-lost)
				log.lost(lost)
			}
			log.write(e)
		}
	}()
	unfollow := h.requests.follow(log)
	return out.lines, func() {
		unfollow()
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
