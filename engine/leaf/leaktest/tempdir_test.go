package leaktest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is open of a directory is found, and what is beside it is not.
func TestOpen(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("this system does not tell which files are open")
	}
	dir := TempDir(t)
	var files []*os.File
	for _, name := range []string{"a/b", "a", "ab"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	got := Open(filepath.Join(dir, "a"))
	slices.Sort(got)
	if want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "a/b")}; !slices.Equal(got, want) {
		t.Errorf("open are %q, want %q", got, want)
	}
	for _, f := range files {
		_ = f.Close()
	}
	if got := Open(dir); len(got) > 0 {
		t.Errorf("still open are %q", got)
	}
}
