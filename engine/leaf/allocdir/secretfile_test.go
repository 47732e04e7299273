package allocdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

func TestWriteSecret(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	d := allocdir.At(dir)
	defer d.Close()
	if err := errors.Join(d.Build(), d.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "another"} {
		if err := d.WriteSecret("t", "secrets/deep/token", []byte(text), nil); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "t/secrets/deep/token")
		got, err := os.ReadFile(file)
		if err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	outside := leaktest.TempDir(t)
	if err := os.Symlink(outside, filepath.Join(dir, "t/local/link")); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteToken("t", "local/link/x", nil, nil); err == nil {
		t.Error("a token was written outside")
	}
	for _, name := range []string{"../x", "local/link/x", "/../x", "secrets"} {
		if err := d.WriteSecret("t", name, []byte("x"), nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if want := filepath.Join(dir, "t/secrets/deep/token"); err != nil || len(files) != 1 || files[0] != want {
		t.Errorf("there are %q, want %q; %v", files, want, err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}
