package unpack

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// An obstacle to setting the mode of a directory is an error.
func TestEnd(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("there", 0o700); err != nil {
		t.Fatal(err)
	}
	w := &writer{root: root, entries: 1, listed: []directory{{"there", fs.ModeDir | 0o750}}}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if info, err := root.Stat("there"); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	w.listed = []directory{{"gone", fs.ModeDir | 0o750}}
	if err := w.end(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is gone: %v", err)
	}
}
