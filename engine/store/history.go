// Package store keeps on disk what outlives an engine: the state and the
// history of runs.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"taskrun/engine/leaf/event"
)

// historyFile is the name of a run's history in its directory. Each line is a
// JSON object, as in --output json, with a number that counts the lines from 1: a
// reader notices what is missing.
const historyFile = "events.json"

// History writes all events of a run except the tasks' output, which has files
// of its own.
type History struct {
	sub  *event.Subscription
	done chan error
}

// NewHistory starts to write the events of a job and its children to the
// directory of their run, until the bus or the history is closed. It creates
// the file in the background; the run does not wait for it.
func NewHistory(bus *event.Bus, runDir, job string) *History {
	h := &History{sub: bus.Subscribe(false), done: make(chan error, 1)}
	go func() { h.done <- h.write(filepath.Join(runDir, historyFile), job) }()
	return h
}

// write copies events in batches, which it writes whenever no more events are
// queued.
func (h *History) write(path, job string) (failure error) {
	file, err := openLines(path)
	if err != nil {
		h.sub.Close() // or unread events would pile up
		return err
	}
	defer func() { failure = cmp.Or(failure, file.file.Close()) }()
	seq, err := lastNumber(file.file)
	if err != nil {
		h.sub.Close()
		return errors.Join(err, file.file.Close())
	}
	for {
		if !h.sub.Ready() || len(file.unwritten) > batch {
			failure = file.flush() // a full disk must not end the run
		}
		e, ok := h.sub.Next(context.Background())
		if !ok {
			return file.flush()
		}
		if event.Kind(e.Body) == "" || !e.Of(job) {
			continue
		}
		seq++
		line, err := e.Line(seq)
		_, _ = file.Write(line) // it never fails
		failure = cmp.Or(failure, err)
	}
}

// batch is how much of the history is written at once, in bytes.
const batch = 64 << 10

// Close ends the history after writing all published events.
func (h *History) Close() error {
	h.sub.Finish()
	if err := <-h.done; err != nil {
		return fmt.Errorf("cannot keep the history of the run: %w", err)
	}
	return nil
}
