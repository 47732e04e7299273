package allocdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/allocdir"
)

// slot returns a run with an allocation whose directories exist.
func slot(t *testing.T, dataDir, run, alloc string) (r *allocdir.Run, dir *allocdir.Dir) {
	t.Helper()
	r, err := allocdir.OpenRun(dataDir, "job", run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, made(t, r, alloc, "t")
}

// made returns the directory of an allocation with tasks.
func made(t *testing.T, r *allocdir.Run, alloc string, tasks ...string) *allocdir.Dir {
	t.Helper()
	dir := allocdir.At(r.AllocDir(alloc))
	t.Cleanup(func() { _ = dir.Close() })
	err := dir.Build()
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
	data := t.TempDir()
	r, first := slot(t, data, "1", "a")
	link := r.StickyLink("job", "g", 0)
	if err := first.Inherit(link, []string{"t"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(first.Path(), "alloc/data/x"), "shared")
	write(t, filepath.Join(first.Path(), "t/local/y"), "own")
	write(t, filepath.Join(first.Path(), "t/secrets/z"), "secret")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	r, second := slot(t, data, "2", "b")
	if again := r.StickyLink("job", "g", 0); again != link {
		t.Errorf("the link of another run is %s, not %s", again, link)
	}
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

// TestInheritFollowsNoLink lets a task replace local by a link to a foreign
// directory, and removes the target of the slot's link.
func TestInheritFollowsNoLink(t *testing.T) {
	t.Parallel()
	data, foreign := t.TempDir(), t.TempDir()
	write(t, filepath.Join(foreign, "x"), "foreign")
	r, first := slot(t, data, "1", "a")
	link := r.StickyLink("job", "g", 0)
	if err := first.Inherit(link, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(first.Path(), "t/local")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, filepath.Join(first.Path(), "t/local")); err != nil {
		t.Fatal(err)
	}
	second := made(t, r, "b", "t")
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
	third := made(t, r, "c")
	if err := third.Inherit(link, nil); err != nil {
		t.Errorf("the allocation before is gone: %v", err)
	}
}

func TestStickyLinkOfAChildGoesWithTheRun(t *testing.T) {
	t.Parallel()
	r, _ := slot(t, t.TempDir(), "1", "a")
	own, child := r.StickyLink("job", "g", 0), r.StickyLink("job/periodic-1", "g", 0)
	if filepath.Dir(filepath.Dir(child)) != filepath.Join(r.Dir, "sticky") {
		t.Errorf("the link of a child is %s", child)
	}
	if rel, err := filepath.Rel(r.Dir, own); err != nil || filepath.IsLocal(rel) {
		t.Errorf("the link of the job is in the run: %s", own)
	}
}
