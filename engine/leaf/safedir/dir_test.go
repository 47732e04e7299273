package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
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
	dir := t.TempDir()
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
