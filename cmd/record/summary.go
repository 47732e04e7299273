// Package record reads and writes the record of a run: how it ended and, until
// it is removed, its events and the output of its tasks.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
)

// Write records in the directory of a run how a job ended. It writes the
// summary atomically.
func Write(dir string, s *view.Summary) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, source.SummaryFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Read returns how the run in a directory ended, or nil if it has not ended or
// was killed.
func Read(dir string) (*view.Summary, error) {
	text, err := os.ReadFile(filepath.Join(dir, source.SummaryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &view.Summary{}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read how the run in %q ended: %w", dir, err)
	}
	return s, nil
}
