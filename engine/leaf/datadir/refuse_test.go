package datadir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

func TestLargeHostFileIsNotCopied(t *testing.T) {
	t.Parallel()
	data, host := leaktest.TempDir(t), leaktest.TempDir(t)
	for name, size := range map[string]int64{"largest": maxCopy, "too large": maxCopy + 1} {
		path := filepath.Join(host, name)
		dirtest.Fill(t, host, name)
		if err := errors.Join(os.Chmod(path, 0o640), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		got, err := MakeHostPath(data, path)
		if size > maxCopy {
			if got != "" || err == nil || !strings.Contains(err.Error(), "too large to copy") {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if _, err := os.Lstat(HostPathDir(data, path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: a part is left: %v", name, err)
			}
			continue
		}
		text, readErr := os.ReadFile(got)
		want := append([]byte(name), make([]byte, maxCopy-len(name))...)
		if err != nil || readErr != nil || got != HostPathDir(data, path) || !bytes.Equal(text, want) {
			t.Errorf("%s: %q of %d bytes, %v, %v", name, got, len(text), err, readErr)
		}
		if info, err := os.Stat(got); err != nil || info.Mode().Perm()&^0o640 != 0 || info.Mode().Perm()&0o600 != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// A file that another user replaces is not waited for.
	dirtest.Fill(t, host, "pipe|")
	if text, err := readRegular(filepath.Join(host, "pipe")); text != nil || err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a pipe: %q, %v", text, err)
	}
	if text, err := readRegular(filepath.Join(host, "gone")); text != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %q, %v", text, err)
	}
}

// TestUnmovableVolume would have to move it into itself.
func TestUnmovableVolume(t *testing.T) {
	t.Parallel()
	data := leaktest.TempDir(t)
	dirtest.Fill(t, data, "volumes/db/x")
	if err := os.Symlink("volumes/db", filepath.Join(data, "host_volumes")); err != nil {
		t.Fatal(err)
	}
	if dir, err := MakeVolume(data, "db", nil); dir != "" || !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "cannot move volume") {
		t.Errorf("%q, %v", dir, err)
	}
	if got := dirtest.Files(t, filepath.Join(data, "volumes")); !slices.Equal(got, []string{"db/x"}) {
		t.Errorf("left are %q", got)
	}
}
