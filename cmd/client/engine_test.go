package client

import (
	"os"
	"path/filepath"
	"testing"
)

// A data directory may have several names.
func TestDataDirOfAnEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, other, link := filepath.Join(dir, "own"), filepath.Join(dir, "other"), filepath.Join(dir, "link")
	for _, name := range []string{own, other} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		engine, dir string
		want        bool
	}{
		{own, own, true},
		{own, link, true},
		{link, own, true},
		{own, other, false},
		{own, filepath.Join(dir, "none"), false},
		{filepath.Join(dir, "none"), own, false},
		{filepath.Join(dir, "none"), filepath.Join(dir, "none"), true}, // it is yet to be created
	} {
		if got := (&Self{DataDir: c.engine}).In(c.dir); got != c.want {
			t.Errorf("the engine of %q is in %q: %v, want %v", c.engine, c.dir, got, c.want)
		}
	}
}
