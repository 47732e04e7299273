// Package record reads and writes the record of a run: how it ended and, until
// it is removed, its events and the output of its tasks.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// readSummary reads the summary among the files of a run.
func readSummary(from files) (*view.Summary, error) {
	s := &view.Summary{}
	err := readObject(from, source.SummaryFile, s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read how the run in %q ended: %w", from.place(), err)
	}
	return s, nil
}

// maxObject limits the size of a file with one object, in bytes.
const maxObject = 16 << 20

// readObject reads a file with one JSON object.
func readObject(from files, name string, into any) error {
	f, err := from.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxObject+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxObject:
		return fmt.Errorf("%s is larger than %d MiB", name, maxObject>>20)
	case len(text) == 0:
		return fmt.Errorf("%s is empty", name)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
