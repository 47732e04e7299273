package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/tasklog"
)

// directory is the directory of a run.
type directory string

func (d directory) place() string { return string(d) }

func (d directory) open(name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, _, err := allocdir.OpenFile(root, name)
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
