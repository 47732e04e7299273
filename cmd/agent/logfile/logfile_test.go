package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", "|")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(leaktest.TempDir(t), "agent.log")
	for _, line := range []string{"one\n", "two\n", "three\n", "four\n", "a line beyond the limit\n", "six\n"} {
		f, err := Open(path, 10, 2) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"": "six|", ".1": "a line beyond the limit|", ".2": "four|", ".3": "-"} {
		if got := read(t, path+name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Everything that one process writes counts, not only what the file had before.
func TestRotationWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(leaktest.TempDir(t), "agent.log")
	f, err := Open(path, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, line := range []string{"one\n", "two\n", "six\n"} {
		if n, err := f.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if full, now := read(t, path+".1"), read(t, path); full != "one|two|" || now != "six|" {
		t.Errorf("%q, then %q", full, now)
	}
}

// A log continues if its old file cannot be replaced.
func TestRotationFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(leaktest.TempDir(t), "agent.log")
	if err := os.MkdirAll(path+".1/x", 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3 {
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "line|line|line|" {
		t.Errorf("%q", got)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	if _, err := Open(filepath.Join(leaktest.TempDir(t), "none", "agent.log"), 5, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A log whose folder is gone says so, instead of writing to a deleted file.
func TestFolderIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(leaktest.TempDir(t), "agent")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(dir, "agent.log"), 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("line\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write([]byte("line\n")); n != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d bytes written, %v", n, err)
	}
}
