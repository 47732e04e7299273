package allocdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
	hook "taskrun/hooks/allocdir"
)

// The directories of an allocation are created before its tasks start, lose
// their secrets when it has ended, and are removed when it is forgotten.
func TestDirectoriesOfAnAllocation(t *testing.T) {
	t.Parallel()
	dir := allocdir.At(filepath.Join(t.TempDir(), "alloc"))
	defer dir.Close()
	h := hook.New(hooks.Alloc{Dir: dir})
	if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
		t.Fatal(err)
	}
	there := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(dir.Path(), name)); err == nil != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	there("alloc/data", true)
	if err := dir.BuildTask("t", nil); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join("t", "secrets", "token")
	if err := dir.WriteSecret("t", filepath.Join("secrets", "token"), []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	there(secret, true)
	if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err != nil {
		t.Error(err)
	}
	there(secret, false)
	there("t/local", true)
	if err := h.(hooks.AllocDestroy).Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	there("", false)
}

// Directories that cannot be created or removed are errors.
func TestDirectoryErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := allocdir.At(filepath.Join(file, "alloc"))
	defer dir.Close()
	h := hook.New(hooks.Alloc{Dir: dir})
	if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err == nil {
		t.Error("it was made below a file")
	}
	if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err == nil {
		t.Error("secrets were removed below a file")
	}
	if err := h.(hooks.AllocDestroy).Destroy(t.Context()); err == nil {
		t.Error("it was removed below a file")
	}
}
