package textfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces the text of a file in one step: no reader sees half of it, and
// a crash leaves the old text or the new one. The file keeps its mode and, if
// the user may give it away, its owner; a link to it stays a link. A file that
// may not be written to is left alone.
func Write(name string, text []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return withoutPath(err)
	}
	old, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return withoutPath(err)
	}
	defer old.Close()
	info, err := old.Stat()
	if err != nil {
		return withoutPath(err)
	}
	replacement, err := os.CreateTemp(filepath.Dir(target), ".taskrun-fmt-*")
	if err != nil {
		return withoutPath(err)
	}
	err = fill(replacement, text, info)
	if err == nil {
		err = os.Rename(replacement.Name(), target)
	}
	if err != nil {
		_ = os.Remove(replacement.Name()) // the first error counts
	}
	return err
}

// fill writes a file that is to take the place of another, and closes it.
func fill(f *os.File, text []byte, old fs.FileInfo) error {
	defer f.Close() // the second time, where nothing failed
	if owner, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(owner.Uid), int(owner.Gid)) // before the mode, some of which it clears
	}
	if err := f.Chmod(old.Mode()); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
