package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"taskrun/engine/leaf/event"
)

// A writer writes the entries of an archive.
type writer struct {
	ctx    context.Context
	root   *os.Root
	limits Limits
	single string // path of the only file; empty: there may be many

	left    int64 // bytes that may still be written
	entries int
	files   int
	made    int         // number of directories, with or without an entry
	listed  []directory // directories that get their modes at the end
}

type directory struct {
	name string
	mode fs.FileMode
}

// maxName limits the name of an entry and the target of a link, in bytes.
const maxName = 4096

// Limits limit the content of an archive.
type Limits struct {
	Size    int64 // bytes of all files
	Entries int   // files, links and directories that are entries
}

// begin counts an entry and returns the path for it, "" for the directory
// itself.
func (w *writer) begin(name string) (string, error) {
	if w.entries++; w.entries > w.limits.Entries {
		return "", w.tooMany()
	}
	if len(name) > maxName {
		return "", fmt.Errorf("the name of an entry is longer than %d bytes: %.40q…", maxName, name)
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return "", fmt.Errorf("entry contains '..': %q", name)
		}
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/"), w.ctx.Err()
}

func (w *writer) tooMany() error {
	return fmt.Errorf("the archive contains too many files: the limit is %d", w.limits.Entries)
}

func (w *writer) tooLarge() error {
	return fmt.Errorf("the unpacked files are larger than the limit of %s", event.Size(w.limits.Size))
}

// end checks that the archive was not empty, and sets the modes of directories,
// which may be read-only.
func (w *writer) end() error {
	if w.entries == 0 || w.single != "" && w.files == 0 {
		return errors.New("the archive is empty")
	}
	for _, d := range w.listed {
		// The owner keeps access, for the inspection.
		if err := w.root.Chmod(d.name, d.mode.Perm()|0o500); err != nil {
			return err
		}
	}
	return nil
}

// addDir creates a directory that is an entry.
func (w *writer) addDir(name string, mode fs.FileMode) error {
	if w.single != "" {
		return errNotSingle
	}
	if name == "" {
		return nil
	}
	if err := w.mkdirAll(name); err != nil {
		return err
	}
	info, err := w.root.Lstat(name)
	if err == nil && info.IsDir() { // an earlier entry may have created a link
		w.listed = append(w.listed, directory{name, mode})
	}
	return err
}

var errNotSingle = errors.New("the archive does not hold exactly one file")

// addFile writes a file, or a link to the target in text.
func (w *writer) addFile(name string, mode fs.FileMode, text io.Reader) error {
	w.files++
	switch {
	case name == "":
		return errors.New("a file in the archive has no name")
	case w.single != "" && (w.files > 1 || !mode.IsRegular()):
		return errNotSingle
	case w.single != "":
		return w.file(w.single, mode.Perm(), text)
	}
	if err := w.place(name); err != nil {
		return err
	}
	switch {
	case mode.IsRegular():
		return w.file(name, mode.Perm(), text)
	case mode.Type() == fs.ModeSymlink:
		target, err := io.ReadAll(io.LimitReader(text, maxName+1))
		if err == nil && len(target) > maxName {
			err = fmt.Errorf("the target of link %q is longer than %d bytes", name, maxName)
		}
		if err != nil {
			return err
		}
		return w.root.Symlink(string(target), name)
	}
	return w.special(name)
}

func (w *writer) special(name string) error {
	return fmt.Errorf("entry %q is neither a file, a directory nor a link", name)
}

// place creates the directories above a file, which may have no entries, and
// removes a file of an earlier entry with the same name.
func (w *writer) place(name string) error {
	if dir := path.Dir(name); dir != "." {
		if err := w.mkdirAll(dir); err != nil {
			return err
		}
	}
	if info, err := w.root.Lstat(name); err == nil && !info.IsDir() {
		return w.root.Remove(name)
	}
	return nil
}

// mkdirAll creates a directory and its parents. If a file is in the way, the
// next step fails.
func (w *writer) mkdirAll(name string) error {
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		switch err := w.root.Mkdir(name[:i], 0o755); {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			return err
		default:
			if w.made++; w.made > 2*w.limits.Entries {
				return fmt.Errorf("the archive contains too many directories: the limit is %d", 2*w.limits.Entries)
			}
		}
	}
	return nil
}

// file writes a file, up to the bytes left of the limit.
func (w *writer) file(name string, mode fs.FileMode, text io.Reader) error {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(reader{w.ctx, text}, min(w.left, math.MaxInt64-1)+1))
	if w.left -= n; err == nil && w.left < 0 {
		err = w.tooLarge()
	}
	if err == nil {
		err = f.Chmod(mode) // regardless of the umask
	}
	return errors.Join(err, f.Close())
}

// A reader fails once its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
