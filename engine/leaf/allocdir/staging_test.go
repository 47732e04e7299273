package allocdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestStaging(t *testing.T) {
	t.Parallel()
	allocDir := filepath.Join(leaktest.TempDir(t), "a")
	buildAlloc(t, allocDir, nil)
	for name, remove := range map[string]func() error{
		"RemoveSecrets": func() error { return at(t, allocDir).RemoveSecrets() },
		"Remove":        func() error { return Remove(allocDir) },
	} {
		for range 2 { // the second time, it exists already
			dir, err := Staging(allocDir)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if below, err := filepath.Rel(allocDir, dir); err != nil || filepath.IsLocal(below) {
				t.Errorf("%s is in the allocation", dir)
			}
		}
		if err := remove(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(stagingOf(allocDir)); err == nil {
			t.Errorf("%s left it there", name)
		}
		buildAlloc(t, allocDir, nil)
	}
}

func TestStagingDistrustsExistingFiles(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"a link":           func(path string) error { return os.Symlink(leaktest.TempDir(t), path) },
		"an open one":      func(path string) error { return os.Mkdir(path, 0o755) },
		"a file":           func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		allocDir := filepath.Join(leaktest.TempDir(t), "a")
		if err := plant(stagingOf(allocDir)); err != nil {
			t.Fatal(err)
		}
		if dir, err := Staging(allocDir); err == nil {
			t.Errorf("%s: %s is used", name, dir)
		}
	}
}
