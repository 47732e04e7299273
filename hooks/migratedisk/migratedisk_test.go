package migratedisk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/migratedisk"
)

// The data of an allocation moves to the next one with the same link; data that
// cannot be moved is reported, and the allocation still runs.
func TestDataMoves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var told []string
	run := func(name string, prepare func(path string)) string {
		t.Helper()
		dir := allocdir.At(filepath.Join(root, name))
		t.Cleanup(func() { _ = dir.Close() })
		if err := dir.Build(); err != nil {
			t.Fatal(err)
		}
		prepare(dir.Path())
		h := migratedisk.New(hooks.Alloc{
			Dir: dir, Sticky: filepath.Join(root, "link"), Group: &api.TaskGroup{Tasks: []*api.Task{{Name: "a"}, {Name: "b"}}},
			Publish: func(_ time.Time, body event.Body) { told = append(told, body.(event.Notice).Text) },
		})
		if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
			t.Fatal(err)
		}
		return dir.Path()
	}
	put := func(path string, names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(path, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(path string, names ...string) {
		t.Helper()
		for _, name := range names {
			if got, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(got) != name {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	nothing := func(string) {}
	files := []string{"alloc/data/x", "a/local/x", "b/local/x"}
	put(run("first", nothing), files...)
	second := run("second", nothing)
	has(second, files...)
	if len(told) > 0 {
		t.Errorf("told %q", told)
	}
	third := run("third", func(path string) { // a task's directory cannot be created
		if err := os.WriteFile(filepath.Join(path, "a"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	has(third, "alloc/data/x", "b/local/x")
	has(second, "a/local/x") // it stays there
	if len(told) != 1 || !strings.HasPrefix(told[0], "not all of the sticky data is there: ") {
		t.Errorf("told %q", told)
	}
	if h := migratedisk.New(hooks.Alloc{}); h != nil {
		t.Error("there is a hook for a disk that does not stick")
	}
	// The link cannot be changed.
	if err := errors.Join(os.Remove(filepath.Join(root, "link")), os.MkdirAll(filepath.Join(root, "link", "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	run("fourth", nothing)
	if len(told) != 2 {
		t.Errorf("told %q", told)
	}
}
