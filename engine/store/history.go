// Package store keeps on disk what outlives a run.
package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"taskrun/engine/event"
)

// historyFile is the name of a run's history in its directory: one JSON object
// a line, as --output json shows them.
const historyFile = "events.json"

// History writes all events of a run, but for the tasks' output, which has
// files of its own.
type History struct {
	sub  *event.Subscription
	file *os.File
	done chan error
}

// NewHistory begins to write the events of a job and its children to the
// directory of their run, until the bus or the history is closed. Jobs tells
// whether a job is one of them.
func NewHistory(bus *event.Bus, runDir string, ours func(job string) bool) (*History, error) {
	file, err := os.OpenFile(filepath.Join(runDir, historyFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the history of the run: %w", err)
	}
	h := &History{sub: bus.Subscribe(false), file: file, done: make(chan error, 1)}
	go func() { h.done <- h.write(ours) }()
	return h, nil
}

// write copies events in batches: it goes to the file when no more are queued.
func (h *History) write(ours func(job string) bool) (failure error) {
	w := bufio.NewWriter(h.file)
	enc := json.NewEncoder(w)
	for {
		if !h.sub.Ready() {
			failure = firstOf(failure, w.Flush())
		}
		e, ok := h.sub.Next(context.Background())
		if !ok {
			return firstOf(failure, w.Flush())
		}
		if job := jobOf(e); job == "" || !ours(job) {
			continue
		}
		// A full disk must not end the run; the first failure is told at its
		// end.
		failure = firstOf(failure, enc.Encode(e))
	}
}

func jobOf(e event.Event) string {
	if d, ok := e.Body.(event.Deployment); ok {
		return d.Job
	}
	if e.Alloc == nil {
		return ""
	}
	return e.Alloc.Job
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Close ends the history once everything that was published is written.
func (h *History) Close() error {
	h.sub.Finish()
	err := <-h.done
	h.sub.Close()
	if err := firstOf(err, h.file.Close()); err != nil {
		return fmt.Errorf("cannot keep the history of the run: %w", err)
	}
	return nil
}
