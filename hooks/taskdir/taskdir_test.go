package taskdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
	"taskrun/hooks/taskdir"
)

// The directories of a task are created once, before its first start. They
// belong to its user, unless it has users of its own.
func TestDirectoriesOfATask(t *testing.T) {
	t.Parallel()
	for name, isolation := range map[string]drivers.FSIsolation{"not isolated": drivers.FSIsolationNone, "image": drivers.FSIsolationImage} {
		dir := allocdir.At(t.TempDir())
		defer dir.Close()
		if err := dir.Build(); err != nil {
			t.Fatal(err)
		}
		var told []string
		h := taskdir.New(hooks.Task{
			Task: &api.Task{Name: "t", User: "no-such-user"}, Dir: dir, Driver: drivers.Capabilities{FSIsolation: isolation},
			Emit: func(e *api.TaskEvent) { told = append(told, e.DisplayMessage) },
		})
		var resp hooks.PrestartResponse
		if err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp); err != nil || !resp.Done {
			t.Errorf("%s: done %v, %v", name, resp.Done, err)
		}
		for _, part := range []string{"local", "secrets", "private", "tmp"} {
			if info, err := os.Stat(filepath.Join(dir.Path(), "t", part)); err != nil || !info.IsDir() {
				t.Errorf("%s: %s: %v", name, part, err)
			}
		}
		open := isolation == drivers.FSIsolationImage // for the users in the image
		if info, err := os.Stat(filepath.Join(dir.Path(), "t", "secrets")); err != nil || (info.Mode().Perm()&0o007 != 0) != open {
			t.Errorf("%s: secrets: %v, %v", name, info.Mode(), err)
		}
		if len(told) != 1 || told[0] != "Building Task Directory" {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// If directories cannot be created, the start fails with any driver.
func TestDirectoryErrors(t *testing.T) {
	t.Parallel()
	for _, isolation := range []drivers.FSIsolation{drivers.FSIsolationNone, drivers.FSIsolationImage} {
		dir := allocdir.At(t.TempDir())
		defer dir.Close()
		if err := errors.Join(dir.Build(), os.WriteFile(filepath.Join(dir.Path(), "t"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		h := taskdir.New(hooks.Task{Task: &api.Task{Name: "t"}, Dir: dir, Driver: drivers.Capabilities{FSIsolation: isolation}, Emit: func(*api.TaskEvent) {}})
		var resp hooks.PrestartResponse
		if err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp); err == nil || resp.Done {
			t.Errorf("%v: done %v, %v", isolation, resp.Done, err)
		}
	}
}
