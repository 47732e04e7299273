package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// A scratch directory is removed with everything in it, and nothing else is.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o066 != 0 {
		t.Errorf("others can use it: %v, %v", info.Mode(), err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0o500); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone
		if err := Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is left")
	}
	link := filepath.Join(os.Getenv("TMPDIR"), prefix+"link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{outside, link} {
		if Remove(other) == nil {
			t.Errorf("%s was accepted", other)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
