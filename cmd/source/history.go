package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/event"
)

// eventsFile is the history of a run in its directory, see package engine/store.
const eventsFile = "events.json"

// history reads the events of a run from its directory, even while the file
// grows.
type history struct {
	file   *os.File
	begun  []byte // an incomplete line
	allocs map[string]*event.Alloc
}

func openHistory(dir string) (*history, error) {
	f, err := os.Open(filepath.Join(dir, eventsFile))
	if err != nil {
		return nil, fmt.Errorf("cannot read the events of a run: %w", err)
	}
	return &history{file: f, allocs: map[string]*event.Alloc{}}, nil
}

// History returns the past events of the run in a directory.
func History(dir string) ([]event.Event, error) {
	h, err := openHistory(dir)
	if err != nil {
		return nil, err
	}
	defer h.file.Close()
	return h.next()
}

// next returns the events since the last call.
func (h *history) next() (events []event.Event, err error) {
	text, err := io.ReadAll(h.file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the events of a run: %w", err)
	}
	h.begun = append(h.begun, text...)
	for {
		line, rest, ok := bytes.Cut(h.begun, []byte("\n"))
		if !ok {
			return events, err
		}
		h.begun = rest
		e, failure := event.Parse(line)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", h.file.Name(), failure))
			continue
		}
		if e.Alloc != nil { // share one value for all events of an allocation
			if known := h.allocs[e.Alloc.ID]; known != nil {
				e.Alloc = known
			}
			h.allocs[e.Alloc.ID] = e.Alloc
		}
		events = append(events, e)
	}
}
