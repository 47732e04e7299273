package textfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces the text of a file atomically: no reader sees half of it, and
// a crash leaves either the old or the new text. The file keeps its mode and,
// if possible, its owner; a link to it remains a link. It refuses a file that
// is not writable.
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

// fill writes a file that will replace another one, and closes it.
func fill(f *os.File, text []byte, old fs.FileInfo) error {
	defer f.Close() // a second time if nothing failed
	if owner, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(owner.Uid), int(owner.Gid)) // before the mode, because it clears some bits
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
