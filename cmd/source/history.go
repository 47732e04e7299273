package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"taskrun/cmd/history"
	"taskrun/engine/leaf/event"
)

// grown is the history of a run that may grow.
type grown struct {
	file   *os.File
	reader *history.Reader
}

func openHistory(dir string) (*grown, error) {
	f, err := os.Open(filepath.Join(dir, history.File))
	if err != nil {
		return nil, fmt.Errorf("cannot read the events of a run: %w", err)
	}
	return &grown{f, history.New(f)}, nil
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
func (h *grown) next() (events []event.Event, err error) {
	for {
		e, err := h.reader.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, fmt.Errorf("cannot read the events of a run: %w", err)
		}
		events = append(events, e)
	}
}
