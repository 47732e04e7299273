package allocdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

// made returns the directory of an allocation of a run, with tasks.
func made(t *testing.T, runDir, alloc string, tasks ...string) *allocdir.Dir {
	t.Helper()
	dir := allocdir.At(filepath.Join(runDir, alloc))
	t.Cleanup(func() { _ = dir.Close() })
	err := errors.Join(os.MkdirAll(runDir, 0o700), dir.Build())
	for _, task := range tasks {
		err = errors.Join(err, dir.BuildTask(task, nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "?"
	}
	return string(text)
}

func TestInheritMovesDataAndLocal(t *testing.T) {
	t.Parallel()
	job := leaktest.TempDir(t)
	link := filepath.Join(job, "sticky/g[0]")
	first := made(t, filepath.Join(job, "1"), "a", "t")
	if err := first.Inherit(link, []string{"t"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(first.Path(), "alloc/data/x"), "shared")
	write(t, filepath.Join(first.Path(), "t/local/y"), "own")
	write(t, filepath.Join(first.Path(), "t/secrets/z"), "secret")

	second := made(t, filepath.Join(job, "2"), "b", "t")
	if err := second.Inherit(link, []string{"t"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"alloc/data/x": "shared", "t/local/y": "own", "t/secrets/z": "?"} {
		if got := read(filepath.Join(second.Path(), name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := read(filepath.Join(first.Path(), "alloc/data/x")); got != "?" {
		t.Errorf("the data is in the old allocation as well: %q", got)
	}
}

// Files in a directory of the new allocation are an error, and nothing is lost.
func TestInheritKeepsNewFiles(t *testing.T) {
	t.Parallel()
	job := leaktest.TempDir(t)
	link := filepath.Join(job, "sticky/g[0]")
	first := made(t, job, "a", "t")
	if err := first.Inherit(link, []string{"t"}); err != nil {
		t.Fatal(err)
	}
	second := made(t, job, "b", "t")
	before, after := filepath.Join(first.Path(), "t/local/x"), filepath.Join(second.Path(), "t/local/x")
	write(t, before, "old")
	write(t, after, "new")
	if err := second.Inherit(link, []string{"t"}); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("the error is %v", err)
	}
	if got := read(before) + " " + read(after); got != "old new" {
		t.Errorf("the files are %q", got)
	}
}

// TestInheritFollowsNoLink lets a task replace local by a link to a foreign
// directory, and removes the target of the slot's link.
func TestInheritFollowsNoLink(t *testing.T) {
	t.Parallel()
	job, foreign := leaktest.TempDir(t), leaktest.TempDir(t)
	write(t, filepath.Join(foreign, "x"), "foreign")
	link := filepath.Join(job, "sticky/g[0]")
	first := made(t, job, "a", "t")
	if err := first.Inherit(link, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(first.Path(), "t/local")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, filepath.Join(first.Path(), "t/local")); err != nil {
		t.Fatal(err)
	}
	second := made(t, job, "b", "t")
	if err := second.Inherit(link, []string{"t"}); err == nil {
		t.Error("a link was moved into the place of a directory")
	}
	if info, err := os.Lstat(filepath.Join(second.Path(), "t/local")); err != nil || !info.IsDir() {
		t.Errorf("local is not a directory: %v, %v", info, err)
	}
	if got := read(filepath.Join(foreign, "x")); got != "foreign" {
		t.Errorf("the foreign file is %q", got)
	}

	if err := os.RemoveAll(second.Path()); err != nil {
		t.Fatal(err)
	}
	third := made(t, job, "c")
	if err := third.Inherit(link, nil); err != nil {
		t.Errorf("the allocation before is gone: %v", err)
	}
}
