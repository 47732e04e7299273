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

// NewHistory begins to write the events of a job, and of those that run in its
// name, to the directory of their run, until the bus or the history is closed.
func NewHistory(bus *event.Bus, runDir, job string) (*History, error) {
	file, err := os.OpenFile(filepath.Join(runDir, historyFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the history of the run: %w", err)
	}
	h := &History{sub: bus.Subscribe(false), file: file, done: make(chan error, 1)}
	go func() { h.done <- h.write(job) }()
	return h, nil
}

// write copies events in batches: it goes to the file when no more are queued.
func (h *History) write(job string) (failure error) {
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
		if !concerns(e, job) {
			continue
		}
		// A full disk must not end the run; the first failure is told at its
		// end.
		failure = firstOf(failure, enc.Encode(e))
	}
}

func concerns(e event.Event, job string) bool {
	if d, ok := e.Body.(event.Deployment); ok {
		return d.Job == job
	}
	return e.Alloc != nil && e.Alloc.Of(job)
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
