// Package textfile finds, reads and replaces the files that "taskrun fmt"
// formats.
package textfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// MaxSize limits the size of a file that is read, in bytes. It exceeds the
// limit of the parser, so that the parser reports the error.
const MaxSize = 64 << 20

// Finder finds the files that "nomad fmt" formats.
type Finder struct {
	Recursive   bool
	Names       []string
	Diagnostics jobspec.Diagnostics
}

func (f *Finder) refuse(name, why, remedy string) {
	f.Diagnostics = append(f.Diagnostics, jobspec.Diagnostic{
		Summary: fmt.Sprintf("cannot format %q: %s", name, why), Remedy: remedy,
	})
}

// Add finds a file, or the files in a folder.
func (f *Finder) Add(name string) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.refuse(name, "there is no such file", "")
	case err != nil:
		f.refuse(name, diagnostic.Bare(err).Error(), "")
	case info.IsDir():
		f.folder(name)
	case !isText(name):
		f.refuse(name, "its name ends neither in .hcl nor in .nomad", "rename it, or format it as stdin: taskrun fmt - <FILE")
	case !info.Mode().IsRegular():
		f.refuse(name, "it is not a regular file", "")
	default:
		f.Names = append(f.Names, name)
	}
}

// folder finds the files in a folder. It follows links to files, but not to
// folders.
func (f *Finder) folder(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		f.refuse(folder, diagnostic.Bare(err).Error(), "")
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		switch {
		case entry.IsDir() && f.Recursive:
			f.folder(name)
		case !entry.IsDir() && isText(name) && IsRegular(name):
			f.Names = append(f.Names, name)
		}
	}
}

func isText(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".hcl" || ext == ".nomad"
}

// IsRegular reports whether a name is that of a regular file, or of a link to one.
func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Read returns the text of a file.
func Read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, diagnostic.Bare(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize))
	return text, diagnostic.Bare(err)
}
