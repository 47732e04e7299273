package allocdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"taskrun/engine/leaf/allocdir"
)

func TestMakeVolume(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for _, source := range []string{"db", "../x", "..", "a/b[0]", ".hidden"} {
		dir, err := allocdir.MakeVolume(data, source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if dir != allocdir.VolumeDir(data, source) || filepath.Dir(filepath.Dir(dir)) != filepath.Join(data, "host_volumes") {
			t.Errorf("volume %q is at %s", source, dir)
		}
		for path, want := range map[string]fs.FileMode{dir: 0o777 | fs.ModeSticky, filepath.Dir(dir): 0o700} {
			info, err := os.Stat(path)
			if err != nil || info.Mode() != want|fs.ModeDir {
				t.Errorf("volume %q, %s: %v, %v", source, path, info.Mode(), err)
			}
		}
		write(t, filepath.Join(dir, "x"), source)
		if again, err := allocdir.MakeVolume(data, source, nil); err != nil || again != dir || read(filepath.Join(dir, "x")) != source {
			t.Errorf("volume %q did not stay: %v", source, err)
		}
	}
	if info, err := os.Stat(data); err != nil || info.Mode().Perm()&0o066 != 0 {
		t.Errorf("the data directory is open to others: %v, %v", info.Mode(), err)
	}
}

// TestMakeVolumeMovesAnEarlierOne lets many programs request a volume
// concurrently that is at the place of earlier versions.
func TestMakeVolumeMovesAnEarlierOne(t *testing.T) {
	t.Parallel()
	for range 50 {
		data := t.TempDir()
		old := filepath.Join(data, "volumes", "db")
		if err := os.MkdirAll(old, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(old, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(old, "x"), "kept")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				dir, err := allocdir.MakeVolume(data, "db", nil)
				if got := read(filepath.Join(dir, "x")); err != nil || got != "kept" {
					t.Errorf("the volume has %q: %v", got, err)
				}
			})
		}
		all.Wait()
		if info, err := os.Stat(allocdir.VolumeDir(data, "db")); err != nil || info.Mode() != 0o777|fs.ModeSticky|fs.ModeDir {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
		if _, err := os.Stat(old); err == nil {
			t.Error("the volume is still where it was")
		}
	}
}

// A volume is created with the wanted attributes, which a second call may change. It is
// removed with its content, and removing it again is no error.
func TestCreateAndRemoveVolume(t *testing.T) {
	t.Parallel()
	data, uid := t.TempDir(), os.Getuid()
	dir := allocdir.VolumeDir(data, "db")
	for _, c := range []struct {
		allocdir.VolumeAttributes
		want fs.FileMode
	}{
		{allocdir.VolumeAttributes{UID: -1, GID: -1}, 0o777 | fs.ModeSticky},
		{allocdir.VolumeAttributes{Mode: 0o750, UID: uid, GID: -1}, 0o750},
		{allocdir.VolumeAttributes{UID: -1, GID: os.Getgid()}, 0o750},
	} {
		if err := allocdir.CreateVolume(data, "db", c.VolumeAttributes); err != nil {
			t.Errorf("%+v: %v", c.VolumeAttributes, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode() != c.want|fs.ModeDir {
			t.Errorf("%+v: %v, %v", c.VolumeAttributes, info.Mode(), err)
		}
	}
	if uid != 0 {
		for _, a := range []allocdir.VolumeAttributes{{UID: 0, GID: -1}, {UID: -1, GID: 0}} {
			if err := allocdir.CreateVolume(data, "db", a); err == nil || !strings.HasPrefix(err.Error(), `cannot change the owner of volume "db": `) {
				t.Errorf("%+v: %v", a, err)
			}
		}
	}
	write(t, filepath.Join(dir, "x"), "text")
	for range 2 {
		if err := allocdir.RemoveVolume(data, "db"); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := allocdir.CreateVolume(filepath.Join(data, "file"), "db", allocdir.VolumeAttributes{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}
