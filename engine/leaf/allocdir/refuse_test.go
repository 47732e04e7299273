package allocdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// in returns the names in a directory.
func in(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSocketObstacles puts a directory that is not empty at the path of a
// socket, whether it is created there or moved there.
func TestSocketObstacles(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o700, 0o777} {
		path := newAlloc(t, "t")
		d := At(path)
		defer d.Close()
		secrets := TaskOf(path, "t").Secrets
		dirtest.Fill(t, secrets, "api.sock/x")
		if err := os.Chmod(secrets, mode); err != nil {
			t.Fatal(err)
		}
		l, err := d.ListenSecret("t", "api.sock", nil)
		if l != nil || err == nil || !strings.Contains(err.Error(), `cannot make socket "api.sock" of task "t"`) {
			t.Errorf("mode %v: %v, %v", mode, l, err)
		}
		if got := in(t, path); !slices.Equal(got, []string{"alloc", "t"}) {
			t.Errorf("mode %v: left are %q", mode, got)
		}
		if got := dirtest.Files(t, secrets); !slices.Equal(got, []string{"api.sock/x"}) {
			t.Errorf("mode %v: among the secrets are %q", mode, got)
		}
		if l, err := d.ListenSecret("none", "api.sock", nil); l != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no task: %v, %v", l, err)
		}
		if err := d.RemoveSecret("none", "api.sock"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no task: %v", err)
		}
	}
}

// TestSocketAfterADeadEngine finds the directory and the socket of an engine
// that was killed before it had moved the socket.
func TestSocketAfterADeadEngine(t *testing.T) {
	t.Parallel()
	path := newAlloc(t, "t")
	d := At(path)
	defer d.Close()
	secrets := TaskOf(path, "t").Secrets
	dirtest.Fill(t, path, ".t.socket/"+socketName)
	if err := errors.Join(os.Chmod(filepath.Join(path, ".t.socket"), 0o700), os.Chmod(secrets, 0o777)); err != nil {
		t.Fatal(err)
	}
	l, err := d.ListenSecret("t", "api.sock", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Lstat(filepath.Join(secrets, "api.sock")); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("the socket is %v, %v", info, err)
	}
	if got := in(t, path); !slices.Equal(got, []string{"alloc", "t"}) {
		t.Errorf("left are %q", got)
	}
}

// TestOnlyDirectoriesArrive lets a task replace a directory while it is being
// moved.
func TestOnlyDirectoriesArrive(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	root := openRoot(t, dir)
	dirtest.Fill(t, dir, "dir/x", "file", "pipe|")
	if err := os.Symlink("dir", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"dir": nil, "file": errNoDir, "pipe": errNoDir, "link": errNoDir, "none": fs.ErrNotExist} {
		if err := checkArrived(root, name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if got := in(t, dir); !slices.Equal(got, []string{"dir"}) {
		t.Errorf("left are %q", got)
	}
}

// TestDirectoryThatCannotBeMoved would have to move it into itself: the empty
// one, which had been removed, is restored.
func TestDirectoryThatCannotBeMoved(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	local := taskEntries[0]
	below := filepath.Join(dir, local.name, "sub")
	dirtest.Fill(t, dir, "local/file", "local/sub/local/")
	if err := moveDir(openRoot(t, dir), openRoot(t, below), below, local); !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
	if info, err := os.Lstat(filepath.Join(below, local.name)); err != nil || info.Mode() != local.mode|fs.ModeDir {
		t.Errorf("%v, %v", info, err)
	}
	if got := dirtest.Files(t, dir); !slices.Equal(got, []string{"local/file"}) {
		t.Errorf("left are %q", got)
	}
	// If the new one is not empty, nothing is changed.
	dirtest.Fill(t, below, "local/new")
	if err := moveDir(openRoot(t, dir), openRoot(t, below), below, local); err == nil {
		t.Error("a directory that is not empty was replaced")
	}
	if got := dirtest.Files(t, dir); !slices.Equal(got, []string{"local/file", "local/sub/local/new"}) {
		t.Errorf("left are %q", got)
	}
}

func TestNothingToRemove(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	dirtest.Fill(t, dir, "file")
	file, none := filepath.Join(dir, "file"), filepath.Join(dir, "none")
	if err := errors.Join(Remove(none), Remove(filepath.Join(none, "none"))); err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	if err := Remove(filepath.Join(file, "x")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("in a file: %v", err)
	}
	if _, err := Staging(file); err != nil {
		t.Fatal(err)
	}
	if err := at(t, file).RemoveSecrets(); err == nil || !strings.Contains(err.Error(), "cannot remove the secrets") {
		t.Errorf("the secrets in a file: %v", err)
	}
	if got := in(t, dir); !slices.Equal(got, []string{"file"}) { // and the staging directory is gone
		t.Errorf("left are %q", got)
	}
}

func TestIsGiven(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	root := openRoot(t, dir)
	other := &Owner{UID: os.Geteuid() + 1, GID: os.Getegid()}
	check := func(owner *Owner, want bool) {
		t.Helper()
		if got, err := isGiven(root, owner); got != want || err != nil {
			t.Errorf("given to %v: %v, %v; want %v", owner, got, err, want)
		}
	}
	check(nil, false)
	check(other, false)
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, other.UID, -1); err != nil {
			t.Fatal(err)
		}
		check(nil, true)
		check(other, true)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := isGiven(root, nil); got || err == nil {
		t.Errorf("closed: %v, %v", got, err)
	}
}
