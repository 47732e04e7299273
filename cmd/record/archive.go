package record

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"taskrun/cmd/history"
	"taskrun/engine/leaf/event"
)

// An exported run is a zip: its entries can be read one by one, without anything
// on disk, and everyone can look into it. Unknown entries are ignored, so that
// later versions can add some.
const (
	manifestFile = "run.json"
	// EnvironmentFile has the environments of tasks. It is exported on request only.
	EnvironmentFile = "environment.json"
	outputDir       = "output/" // <allocation ID>/<task>.<stream>, and .times
	timesSuffix     = ".times"
)

// format is the version of the form of exported runs. A reader refuses later ones.
const format = 1

// Limits of an exported run, which may come from anyone.
const (
	maxArchive   = 1 << 30 // bytes of the file
	maxDirectory = 8 << 20 // bytes that describe its entries
	maxEntries   = 20_000
	maxEvents    = 1 << 30 // bytes of the events
	maxContents  = 8 << 30 // bytes of all entries
	// maxRatio is how many times larger the events may be than in the archive,
	// if they are not small. Output may repeat itself without end; it is never
	// kept in memory.
	maxRatio   = 200
	smallEntry = 16 << 20
)

// manifest says what an exported run is.
type manifest struct {
	Format   int       `json:"format"`
	Taskrun  string    `json:"taskrun"` // version of the program that wrote it
	Job      string    `json:"job"`
	ID       string    `json:"id"`
	Live     bool      `json:"live,omitempty"` // it had not ended yet
	Exported time.Time `json:"exported"`
	NoOutput bool      `json:"no_output,omitempty"` // the archive has no output of tasks
}

// NoOutputError reports that the output of tasks was left out of a file.
type NoOutputError struct{ File string }

func (e *NoOutputError) Error() string {
	return fmt.Sprintf("%q has no output of tasks: it was exported with --no-output", e.File)
}

// archive is an exported run.
type archive struct {
	path    string
	file    *os.File // nil in tests
	entries map[string]*zip.File
	about   manifest
}

// listArchive returns the entries of a zip, which may come from anyone.
func listArchive(f io.ReaderAt, size int64) (map[string]*zip.File, error) {
	magic := make([]byte, 4)
	switch n, err := f.ReadAt(magic, 0); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case size == 0:
		return nil, errors.New("it is empty")
	case string(magic[:min(n, 2)]) != "PK":
		return nil, errors.New("it is not a file that \"taskrun export\" wrote")
	case size > maxArchive:
		return nil, fmt.Errorf("it is larger than %s", event.Size(maxArchive))
	}
	limited := &limitedReaderAt{f, maxDirectory}
	z, err := zip.NewReader(limited, size)
	switch {
	case limited.left < 0 || err == nil && len(z.File) > maxEntries:
		return nil, fmt.Errorf("it has more than %d entries", maxEntries)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, fmt.Errorf("it is damaged or incomplete: copy or export it again: %w", err)
	}
	limited.left = 1 << 62
	entries, total := make(map[string]*zip.File, len(z.File)), uint64(0)
	for _, e := range z.File {
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		if entries[e.Name] != nil {
			return nil, fmt.Errorf("entry %q is there twice", e.Name)
		}
		entries[e.Name] = e
		if total += min(e.UncompressedSize64, maxContents+1); total > maxContents {
			return nil, fmt.Errorf("its contents are larger than %s", event.Size(maxContents))
		}
	}
	return entries, nil
}

// checkEntry refuses what export never writes.
func checkEntry(e *zip.File) error {
	size, compressed := e.UncompressedSize64, e.CompressedSize64
	switch {
	case !e.Mode().IsRegular():
		return fmt.Errorf("entry %q is not a regular file", e.Name)
	case !filepath.IsLocal(e.Name):
		return fmt.Errorf("entry %q has the name of a file elsewhere", e.Name)
	case e.Flags&1 != 0:
		return fmt.Errorf("entry %q is encrypted", e.Name)
	case e.Name == history.File && size > maxEvents:
		return fmt.Errorf("entry %q is larger than %s", e.Name, event.Size(maxEvents))
	case e.Name == history.File && size > smallEntry && size/maxRatio > compressed:
		return fmt.Errorf("entry %q is compressed to less than 1/%d of its size: these cannot be events", e.Name, maxRatio)
	}
	return nil
}

// limitedReaderAt reads a number of bytes in total.
type limitedReaderAt struct {
	from io.ReaderAt
	left int64
}

func (l *limitedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errors.New("too large")
	}
	return l.from.ReadAt(p, at)
}

func (a *archive) place() string { return a.path }

func (a *archive) open(name string) (io.ReadCloser, error) {
	e := a.entries[name]
	if e == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := e.Open()
	if err != nil {
		return nil, damaged{nil}.of(err)
	}
	return damaged{f}, nil
}

// damaged explains the errors of entries that are damaged.
type damaged struct{ io.ReadCloser }

func (d damaged) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, d.of(err)
}

func (damaged) of(err error) error {
	return fmt.Errorf("the file is damaged: copy or export it again: %w", err)
}

func outputName(alloc, task string, stream event.Stream) string {
	return outputDir + url.PathEscape(alloc) + "/" + url.PathEscape(task) + "." + stream.String()
}

// Close closes the file.
func (a *archive) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}
