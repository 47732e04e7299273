// Package record reads and writes the record of a run: how it ended and, until
// it is removed, its events and the output of its tasks.
package record

import (
	"encoding/json"
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
	return replace(filepath.Join(dir, source.SummaryFile), append(text, '\n'))
}

// WriteJob records in the directory of a run the job as it was submitted, as JSON
// without secrets. It writes the job atomically.
func WriteJob(dir string, text []byte) error { return replace(filepath.Join(dir, specFile), text) }

// replace writes a file that only this user can read, at once.
func replace(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Read returns how the run in a directory ended, or nil if it has not ended or
// was killed.
func Read(dir string) (*view.Summary, error) { return readSummary(directory(dir)) }
