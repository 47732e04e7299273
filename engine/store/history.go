// Package store keeps on disk what outlives a run.
package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"taskrun/engine/leaf/event"
)

// historyFile is the name of a run's history in its directory: one JSON object
// a line, as --output json shows them.
const historyFile = "events.json"

// History writes all events of a run, but for the tasks' output, which has
// files of its own.
type History struct {
	sub  *event.Subscription
	done chan error
}

// NewHistory begins to write the events of a job, and of those that run in its
// name, to the directory of their run, until the bus or the history is closed.
// The file is made beside the run, which does not wait for it.
func NewHistory(bus *event.Bus, runDir, job string) *History {
	h := &History{sub: bus.Subscribe(false), done: make(chan error, 1)}
	go func() { h.done <- h.write(filepath.Join(runDir, historyFile), job) }()
	return h
}

// write copies events in batches: it goes to the file when no more are queued.
func (h *History) write(path, job string) (failure error) {
	file, err := openLines(path)
	if err != nil {
		h.sub.Close() // or events that are never written would pile up
		return err
	}
	defer func() { failure = firstOf(failure, file.file.Close()) }()
	enc := json.NewEncoder(file)
	for {
		if !h.sub.Ready() || len(file.unwritten) > batch {
			failure = file.flush() // a full disk must not end the run
		}
		e, ok := h.sub.Next(context.Background())
		if !ok {
			return file.flush()
		}
		if event.Kind(e.Body) != "" && e.Of(job) {
			failure = firstOf(failure, enc.Encode(e))
		}
	}
}

// batch is how much of the history is written at once, in bytes.
const batch = 64 << 10

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Close ends the history once everything that was published is written.
func (h *History) Close() error {
	h.sub.Finish()
	if err := <-h.done; err != nil {
		return fmt.Errorf("cannot keep the history of the run: %w", err)
	}
	return nil
}
