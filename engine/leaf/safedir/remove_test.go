package safedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestMountsAreNotRemoved(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "web/secrets/mnt"), 0o700), os.Mkdir(filepath.Join(dir, "web/private"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRemover(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.mounts = Mounts{"web/secrets/mnt"}
	for _, name := range []string{"web", "web/secrets", "web/secrets/mnt"} {
		if err := r.Remove(name); err == nil || !strings.Contains(err.Error(), "is mounted on") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Remove("web/secret"); err != nil {
		t.Error(err)
	}
	if err := r.Remove("web/private"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "web/private")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestAllow makes directories accessible that a task has closed, but nothing
// outside that a link leads to. Root does not need this.
func TestAllow(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "task/secrets/a"), 0o700), os.WriteFile(filepath.Join(dir, "task/secrets/a/file"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "task/local"), 0o700), os.Mkdir(filepath.Join(dir, "outside"), 0o700),
		os.Symlink("../../outside", filepath.Join(dir, "task/secrets/link")),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"task/secrets/a/file", "task/secrets/a", "task/secrets", "task/local", "task", "outside"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	(&Remover{root: root}).allow("task/secrets")
	for name, want := range map[string]fs.FileMode{
		"task": 0o700, "task/secrets": 0o700, "task/secrets/a": 0o700, "task/secrets/a/file": 0o500, "task/local": 0o500, "outside": 0o500,
	} {
		if info, err := root.Lstat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if err := errors.Join(root.Chmod("task/local", 0o700), root.Chmod("outside", 0o700)); err != nil { // for the removal
		t.Error(err)
	}
}

func TestRemoveIn(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.Mkdir(filepath.Join(dir, "stays"), 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(RemoveIn(dir, "a", "none", "file"), RemoveIn(filepath.Join(dir, "none"), "a")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "stays" {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := OpenRemover(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a directory that is not there: %v", err)
	}
}

// A name is removed under another one, and nothing of it is left if that fails.
func TestRemoveAs(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.Mkdir(filepath.Join(dir, "mounted"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRemover(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.mounts = Mounts{"mounted/x"}
	if err := r.RemoveAs("temp", "a"); err != nil {
		t.Error(err)
	}
	if err := r.RemoveAs("temp", "a"); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot remove ") {
		t.Errorf("what is gone: %v", err)
	}
	if err := r.RemoveAs("temp", "mounted"); err == nil || !strings.Contains(err.Error(), "is mounted on") {
		t.Errorf("what a file system is mounted in: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "mounted" {
		t.Errorf("left are %v, %v", left, err)
	}
}
