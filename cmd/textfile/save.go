package textfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"taskrun/jobspec/diagnostic"
)

var errNotRegular = errors.New("it is not a regular file")

// Save writes a text to a new or an existing file in one step. It replaces an
// existing file like Write, and writes to a file that is not regular, such as a
// pipe. If stdout or stderr leads to the file, the text follows their output.
func Save(name string, text []byte) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(name, text, nil) // one that appears meanwhile is replaced
	case err != nil:
		return diagnostic.Bare(err)
	}
	if f := output(info); f != nil {
		_, err := f.Write(text)
		return diagnostic.Bare(err)
	}
	if info.Mode().IsRegular() {
		return Write(name, text)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return diagnostic.Bare(err)
	}
	_, err = f.Write(text)
	return diagnostic.Bare(errors.Join(err, f.Close()))
}

// Write replaces the text of a file atomically: no reader sees half of it, and
// a crash leaves either the old or the new text. The file keeps its mode and,
// if possible, its owner; a link to it remains a link. It refuses a file that
// is not writable or not regular: nothing may take the place of a device.
func Write(name string, text []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return diagnostic.Bare(err)
	}
	old, err := os.OpenFile(target, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return diagnostic.Bare(err)
	}
	defer old.Close()
	info, err := old.Stat()
	switch {
	case err != nil:
		return diagnostic.Bare(err)
	case !info.Mode().IsRegular():
		return errNotRegular
	}
	return replace(target, text, info)
}

// replace writes a file in one step. One that is there passes its mode and, if
// possible, its owner on.
func replace(name string, text []byte, old fs.FileInfo) error {
	next, mode := filepath.Join(filepath.Dir(name), ".taskrun-"+rand.Text()), fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600
	}
	temp, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return diagnostic.Bare(err)
	}
	if old != nil {
		if owner, ok := old.Sys().(*syscall.Stat_t); ok {
			_ = temp.Chown(int(owner.Uid), int(owner.Gid)) // before the mode, because it clears some bits
		}
		err = temp.Chmod(old.Mode())
	}
	if err == nil {
		_, err = temp.Write(text)
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(next, name)
	}
	if err != nil {
		_ = os.Remove(next) // the first error counts
	}
	return diagnostic.Bare(err)
}

// wOK asks whether a file may be written to, see access(2).
const wOK = 2

// Check returns an error if Save could not write to a file now.
func Check(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(filepath.Dir(name))
	case err != nil:
		return diagnostic.Bare(err)
	case info.IsDir():
		return syscall.EISDIR
	}
	if err := syscall.Access(name, wOK); err != nil || !info.Mode().IsRegular() || output(info) != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return diagnostic.Bare(err)
	}
	return checkFolder(filepath.Dir(target))
}

// checkFolder returns an error if no file can be made in a folder.
func checkFolder(dir string) error {
	temp, err := os.CreateTemp(dir, ".taskrun-*")
	if err != nil {
		return diagnostic.Bare(err)
	}
	return errors.Join(temp.Close(), os.Remove(temp.Name()))
}

// output returns stdout or stderr if it leads to a file: replacing the file would
// take away what they have written.
func output(info fs.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if out, err := f.Stat(); err == nil && os.SameFile(out, info) {
			return f
		}
	}
	return nil
}

// Append appends a text to a regular file, which it creates on demand, unless the
// file would become larger than limit. fit returns the text for the room that is
// left.
func Append(name string, limit int64, fit func(room int) string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return diagnostic.Bare(err)
	}
	defer f.Close() // a second time if nothing failed
	info, err := f.Stat()
	switch {
	case err != nil:
		return diagnostic.Bare(err)
	case !info.Mode().IsRegular():
		return errNotRegular
	}
	text := fit(int(max(0, limit-info.Size())))
	if text == "" {
		return fmt.Errorf("it has %d of %d bytes already", info.Size(), limit)
	}
	if _, err := f.WriteString(text); err != nil {
		return diagnostic.Bare(err)
	}
	return diagnostic.Bare(f.Close())
}
