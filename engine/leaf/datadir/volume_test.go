package datadir

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
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

func TestMakeVolume(t *testing.T) {
	t.Parallel()
	data := filepath.Join(leaktest.TempDir(t), "data")
	for _, source := range []string{"db", "../x", "..", "a/b[0]", ".hidden"} {
		dir, err := MakeVolume(data, source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if dir != VolumeDir(data, source) || filepath.Dir(filepath.Dir(dir)) != filepath.Join(data, "host_volumes") {
			t.Errorf("volume %q is at %s", source, dir)
		}
		for path, want := range map[string]fs.FileMode{dir: 0o777 | fs.ModeSticky, filepath.Dir(dir): 0o700} {
			info, err := os.Stat(path)
			if err != nil || info.Mode() != want|fs.ModeDir {
				t.Errorf("volume %q, %s: %v, %v", source, path, info.Mode(), err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := MakeVolume(data, source, nil)
		if text, readErr := os.ReadFile(filepath.Join(dir, "x")); err != nil || again != dir || readErr != nil || string(text) != source {
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
		data := leaktest.TempDir(t)
		old := filepath.Join(data, "volumes", "db")
		if err := os.MkdirAll(old, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(old, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(old, "x"), []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				dir, err := MakeVolume(data, "db", nil)
				if got, readErr := os.ReadFile(filepath.Join(dir, "x")); err != nil || readErr != nil || string(got) != "kept" {
					t.Errorf("the volume has %q: %v", got, err)
				}
			})
		}
		all.Wait()
		if info, err := os.Stat(VolumeDir(data, "db")); err != nil || info.Mode() != 0o777|fs.ModeSticky|fs.ModeDir {
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
	data, uid := leaktest.TempDir(t), os.Getuid()
	dir := VolumeDir(data, "db")
	for _, c := range []struct {
		VolumeAttributes
		want fs.FileMode
	}{
		{VolumeAttributes{UID: -1, GID: -1}, 0o777 | fs.ModeSticky},
		{VolumeAttributes{Mode: 0o750, UID: uid, GID: -1}, 0o750},
		{VolumeAttributes{UID: -1, GID: os.Getgid()}, 0o750},
	} {
		if err := CreateVolume(data, "db", c.VolumeAttributes); err != nil {
			t.Errorf("%+v: %v", c.VolumeAttributes, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode() != c.want|fs.ModeDir {
			t.Errorf("%+v: %v, %v", c.VolumeAttributes, info.Mode(), err)
		}
	}
	if uid != 0 {
		for _, a := range []VolumeAttributes{{UID: 0, GID: -1}, {UID: -1, GID: 0}} {
			if err := CreateVolume(data, "db", a); err == nil || !strings.HasPrefix(err.Error(), `cannot change the owner of volume "db": `) {
				t.Errorf("%+v: %v", a, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := RemoveVolume(data, "db"); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CreateVolume(filepath.Join(data, "file"), "db", VolumeAttributes{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

const (
	someUser  = 4321
	otherUser = 4323
)

func TestVolumeOpensForTheUsersOfTasks(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	data := leaktest.TempDir(t)
	dir, err := MakeVolume(data, "db", nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := filepath.Dir(dir)
	if got := dirtest.PermOf(t, gate, someUser); got != 0 {
		t.Errorf("a volume of root: %o", got)
	}
	for _, uid := range []int{someUser, someUser, otherUser} {
		if _, err := MakeVolume(data, "db", &allocdir.Owner{UID: uid, GID: uid}); err != nil {
			t.Fatal(err)
		}
	}
	if some, other, third := dirtest.PermOf(t, gate, someUser), dirtest.PermOf(t, gate, otherUser), dirtest.PermOf(t, gate, 4000); some != 5 || other != 5 || third != 0 {
		t.Errorf("%o, %o and %o", some, other, third)
	}
}
