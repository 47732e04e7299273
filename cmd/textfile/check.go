package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// wOK asks whether a file may be written to, see access(2).
const wOK = 2

// Check returns an error if Save could not write to a file now.
func Check(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(filepath.Dir(name))
	case err != nil:
		return withoutPath(err)
	case info.IsDir():
		return syscall.EISDIR
	}
	if err := syscall.Access(name, wOK); err != nil || !info.Mode().IsRegular() || output(info) != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return withoutPath(err)
	}
	return checkFolder(filepath.Dir(target))
}

// checkFolder returns an error if no file can be made in a folder.
func checkFolder(dir string) error {
	temp, err := os.CreateTemp(dir, ".taskrun-*")
	if err != nil {
		return withoutPath(err)
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

// Append appends a text to a regular file, which is made if there is none, unless
// it would become larger than a limit. fit returns the text for the room there is.
func Append(name string, limit int64, fit func(room int) string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return withoutPath(err)
	}
	defer f.Close() // a second time if nothing failed
	info, err := f.Stat()
	switch {
	case err != nil:
		return withoutPath(err)
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	text := fit(int(max(0, limit-info.Size())))
	if text == "" {
		return fmt.Errorf("it has %d of %d bytes already", info.Size(), limit)
	}
	if _, err := f.WriteString(text); err != nil {
		return withoutPath(err)
	}
	return withoutPath(f.Close())
}
