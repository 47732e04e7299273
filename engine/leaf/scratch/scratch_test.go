package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// A scratch directory is removed with everything in it, and nothing else is.
func TestScratch(t *testing.T) {
	real, linked := leaktest.TempDir(t), filepath.Join(t.TempDir(), "tmp")
	if err := os.Symlink(real, linked); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", linked)
	dir, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	want := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		want = 0o711
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
		t.Errorf("its mode is %v, %v; want %v", info.Mode(), err, want)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err != nil || resolved != dir {
		t.Errorf("the path %s leads through a link: %s, %v", dir, resolved, err)
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
	link, file := filepath.Join(real, prefix+"link"), filepath.Join(real, "file")
	if err := errors.Join(os.Symlink(outside, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{outside, link, filepath.Join(file, prefix+"x")} {
		if Remove(other) == nil {
			t.Errorf("%s was accepted", other)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
