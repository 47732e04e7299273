package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/jobspec"
)

// maxText bounds what fmt reads of a file, in bytes. It is more than the parser
// takes, so that the parser refuses it.
const maxText = 64 << 20

// A textFinder finds the files that `nomad fmt` takes.
type textFinder struct {
	recursive bool
	names     []string
	problems  jobspec.Problems
}

func (f *textFinder) refuse(name, why, remedy string) {
	f.problems = append(f.problems, jobspec.Problem{
		Summary: fmt.Sprintf("cannot format %q: %s", name, why), Remedy: remedy,
	})
}

// named finds what the user named: a file, or those in a folder.
func (f *textFinder) named(name string) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.refuse(name, "there is no such file", "")
	case err != nil:
		f.refuse(name, withoutPath(err).Error(), "")
	case info.IsDir():
		f.folder(name)
	case !isText(name):
		f.refuse(name, "its name ends neither in .hcl nor in .nomad", "rename it, or format it as stdin: taskrun fmt - <FILE")
	case !info.Mode().IsRegular():
		f.refuse(name, "it is not a regular file", "")
	default:
		f.names = append(f.names, name)
	}
}

// folder finds the files in a folder. It follows links to files, but not to
// folders.
func (f *textFinder) folder(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		f.refuse(folder, withoutPath(err).Error(), "")
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		switch {
		case entry.IsDir() && f.recursive:
			f.folder(name)
		case !entry.IsDir() && isText(name) && isRegular(name):
			f.names = append(f.names, name)
		}
	}
}

func isText(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".hcl" || ext == ".nomad"
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func readText(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	return text, withoutPath(err)
}

// withoutPath takes the path off an error that is told with it.
func withoutPath(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
