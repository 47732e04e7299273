package allocdir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestDirOpensItsParts(t *testing.T) {
	t.Parallel()
	path := newAlloc(t, "web")
	d := At(path)
	if d.Path() != path {
		t.Errorf("the path is %q", d.Path())
	}
	for name, open := range map[string]func() (*os.Root, error){
		".":           d.Alloc,
		"alloc/logs":  d.Logs,
		"web":         func() (*os.Root, error) { return d.Task("web") },
		"web/secrets": func() (*os.Root, error) { return d.Secrets("web") },
	} {
		root, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile("mark", []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(path, name, "mark")); err != nil || string(text) != name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if name == "web/secrets" { // this one is the caller's
			_ = root.Close()
		}
	}
	for _, task := range []string{"", "..", ".", "a/b", "alloc", "missing"} {
		if root, err := d.Task(task); err == nil {
			t.Errorf("task %q was opened at %q", task, root.Name())
		}
	}
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, err := d.Logs(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestDirStaysWhereItWasOpened lets a task replace the directory of the logs
// after it was opened.
func TestDirStaysWhereItWasOpened(t *testing.T) {
	t.Parallel()
	path, elsewhere := newAlloc(t, "web"), leaktest.TempDir(t)
	d := At(path)
	defer d.Close()
	if _, err := d.Logs(); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(path, "alloc", "logs")
	if err := errors.Join(os.Rename(logs, logs+".old"), os.Symlink(elsewhere, logs)); err != nil {
		t.Fatal(err)
	}
	root, err := d.Logs()
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("web.stdout.0", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(logs+".old", "web.stdout.0")); err != nil {
		t.Error(err)
	}
}

func TestPlaceKeepsAPathInOneDirectory(t *testing.T) {
	t.Parallel()
	path := newAlloc(t, "web", "db")
	d := At(path)
	defer d.Close()
	if err := os.Symlink("../../db/secrets", filepath.Join(path, "web", "local", "sub")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"web/local/x":     {"web", "local/x"},
		"web":             {"web", "."},
		"alloc/data/x/y":  {"alloc", "data/x/y"},
		"web/./local/../": {"web", "."},
	} {
		root, rest, err := d.Place(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := root.Stat(".")
		there, statErr := os.Stat(filepath.Join(path, want[0]))
		if err = errors.Join(err, statErr); err != nil || !os.SameFile(got, there) || rest != want[1] {
			t.Errorf("%q: %q, %v", name, rest, err)
		}
	}
	for _, name := range []string{".", "..", "../x", "/web/x", "web/../..", ""} {
		if _, rest, err := d.Place(name); err == nil {
			t.Errorf("%q is at %q", name, rest)
		}
	}
	root, rest, err := d.Place("web/local/sub/token")
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile(rest, nil, 0o600); err == nil {
		t.Error("a link led from one task to another")
	}
}
