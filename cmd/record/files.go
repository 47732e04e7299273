package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/cmd/client"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
	"taskrun/engine/leaf/tasklog"
)

type files interface {
	// place is their directory or archive, for messages.
	place() string
	// open opens a file. A missing one is fs.ErrNotExist.
	open(name string) (io.ReadCloser, error)
	// output opens an output of a task. A missing one is empty.
	output(alloc, task string, part client.Log) (client.Output, error)
	io.Closer
}

// specFile is the name of the file with the job as it was submitted, without
// secrets.
const specFile = "job.json"

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

type directory string

func (d directory) place() string { return string(d) }

func (d directory) open(name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, _, err := safedir.OpenFile(root, name)
	return f, err
}

// Close does nothing.
func (d directory) Close() error { return nil }

func (d directory) output(alloc, task string, part client.Log) (client.Output, error) {
	// An event names them, which may come from anyone.
	if !filepath.IsLocal(alloc) || filepath.Base(alloc) != alloc || filepath.Base(task) != task {
		return nil, fmt.Errorf("cannot read the output of task %q of allocation %q: these are not valid names", task, alloc)
	}
	dir := filepath.Join(string(d), "alloc", alloc)
	return tasklog.Part{
		Logs: allocdir.SharedOf(dir).Logs, Times: allocdir.TimesOf(dir),
		Task: task, Stream: part.Stream, Tail: part.Tail, Since: part.Since,
	}.Open()
}
