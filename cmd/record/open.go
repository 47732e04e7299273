package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"taskrun/cmd/history"
	"taskrun/engine/leaf/datadir"
)

// Open opens the run in a directory, or in a file that was exported. The caller
// must close it.
func Open(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open a run: %w", err)
	}
	if !info.IsDir() {
		return openArchive(path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("cannot open a run: %w", err)
	}
	if _, err := os.Stat(filepath.Join(path, history.File)); err != nil {
		return nil, fmt.Errorf("cannot open run %q: it is not the directory of a run: %w", path, err)
	}
	return At(path, datadir.JobOf(path)), nil
}

// At returns the run of a job in a directory.
func At(dir, job string) *Run {
	r := &Run{Job: job, ID: filepath.Base(dir), Dir: dir, files: directory(dir)}
	r.Summary, r.Err = readSummary(r.files)
	return r
}

func openArchive(path string) (*Run, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is not waited for
	if err != nil {
		return nil, fmt.Errorf("cannot open a run: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var r *Run
	if err == nil {
		r, err = readArchive(f, info.Size(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open run %q: %w", path, err), f.Close())
	}
	r.files.(*archive).file = f
	return r, nil
}

// readArchive reads what is in an exported run.
func readArchive(f io.ReaderAt, size int64, path string) (*Run, error) {
	entries, err := listArchive(f, size)
	if err != nil {
		return nil, err
	}
	a := &archive{path: path, entries: entries}
	if err := readObject(a, manifestFile, &a.about); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("it is a zip file, but not one that \"taskrun export\" wrote: it has no %s", manifestFile)
		}
		return nil, err
	}
	switch m := a.about; {
	case m.Format > format:
		return nil, fmt.Errorf("it was written by a newer taskrun, version %q: update taskrun to read it", m.Taskrun)
	case m.Format < 1 || m.Job == "" || m.ID == "":
		return nil, fmt.Errorf("%s does not say which run it is", manifestFile)
	}
	r := &Run{Job: a.about.Job, ID: a.about.ID, Dir: path, Live: a.about.Live, files: a}
	r.Summary, r.Err = readSummary(a)
	return r, nil
}
