package safedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

func TestOpenRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		os.Symlink("dir", filepath.Join(dir, "link")),
		os.Symlink("/", filepath.Join(dir, "out")),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "out", "file", "fifo", "missing"} {
		if sub, _, err := Open(root, name); err == nil {
			t.Errorf("%s was opened", name)
			_ = sub.Close()
		}
	}
}

// TestOpenDoesNotWaitForAFIFO swaps a directory and a FIFO continuously: no
// call may wait for the other end of the FIFO, and none may open anything but
// the directory.
func TestOpenDoesNotWaitForAFIFO(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700), unix.Mkfifo(filepath.Join(dir, "b"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c"))
				_ = os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a"))
				_ = os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b"))
				_ = os.Rename(filepath.Join(dir, "c"), filepath.Join(dir, "a"))
			}
		}
	}()
	opened := 0
	for range 20_000 {
		if sub, _, err := Open(root, "a"); err == nil {
			opened++
			_ = sub.Close()
		}
	}
	close(stop)
	<-stopped
	if opened == 0 {
		t.Error("the directory was never opened")
	}
}

// A private directory is accessible to this user alone; that of root, and all
// parents that were created, can be traversed. An existing directory is not
// changed, and a file in its place is an error.
func TestMakePrivate(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	want := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		want = 0o711
	}
	for range 2 { // the second time it is there
		if err := MakePrivate(filepath.Join(dir, "a/b")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "a/b"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want|fs.ModeDir {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "a"), 0o750), MakePrivate(filepath.Join(dir, "a"))); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Mode() != 0o750|fs.ModeDir {
		t.Errorf("one that was there has changed: %v, %v", info.Mode(), err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakePrivate(file); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file: %v", err)
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []bool{true, false} {
		if made, err := Make(root, dir, "sticky", 0o777|fs.ModeSticky); err != nil || made != missing {
			t.Errorf("made %v, %v; want %v", made, err, missing)
		}
	}
	if info, err := root.Stat("sticky"); err != nil || info.Mode() != 0o777|fs.ModeSticky|fs.ModeDir {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if made, err := Make(root, dir, "file", Gate); made || err == nil || !strings.Contains(err.Error(), "a file is in the way") {
		t.Errorf("a file: %v, %v", made, err)
	}
}
