package allocdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

// taskDirs creates the directories of a task at a path that is too long for a
// socket.
func taskDirs(t *testing.T) (dir *allocdir.Dir, task allocdir.Task) {
	t.Helper()
	allocDir := filepath.Join(leaktest.TempDir(t), "a-rather-long-name-so-that-no-path-of-a-socket-in-it-would-fit-into-sun_path-of-108-bytes")
	dir = allocdir.At(allocDir)
	t.Cleanup(func() { _ = dir.Close() })
	if err := errors.Join(dir.Build(), dir.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	return dir, allocdir.TaskOf(allocDir, "t")
}

// dial connects to a socket.
func dial(t *testing.T, path string) {
	t.Helper()
	conn, err := allocdir.DialSocket(t.Context(), filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestDialMissingSocket(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{leaktest.TempDir(t), filepath.Join(leaktest.TempDir(t), "missing")} {
		if _, err := allocdir.DialSocket(t.Context(), dir, "socket"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestListenSecret(t *testing.T) {
	t.Parallel()
	dir, task := taskDirs(t)
	socket := filepath.Join(task.Secrets, "api.sock")
	for range 2 { // the second time over the socket of a dead engine
		l, err := dir.ListenSecret("t", "api.sock", nil)
		if err != nil {
			t.Fatal(err)
		}
		dial(t, socket)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(socket); err != nil || info.Mode() != fs.ModeSocket|0o666 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(dir.Path()); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if err := dir.RemoveSecret("t", "api.sock"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is not removed: %v", err)
	}
}

// TestListenSecretChangesOnlyTheSocket lets the task put links to files of
// others at the path of its socket: they keep their owner and their mode.
func TestListenSecretChangesOnlyTheSocket(t *testing.T) {
	t.Parallel()
	dir, task := taskDirs(t)
	victim := filepath.Join(leaktest.TempDir(t), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := &allocdir.Owner{UID: os.Geteuid(), GID: os.Getegid()}
	if os.Geteuid() == 0 {
		owner.UID = 65534
	}
	for name, put := range map[string]func(string) error{
		"a hard link":     func(path string) error { return os.Link(victim, path) },
		"a symbolic link": func(path string) error { return os.Symlink(victim, path) },
	} {
		socket := filepath.Join(task.Secrets, "api.sock")
		_ = os.Remove(socket)
		if err := put(socket); err != nil {
			t.Skipf("cannot make %s: %v", name, err)
		}
		l, err := dir.ListenSecret("t", "api.sock", owner)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		info, err := os.Stat(victim)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			t.Errorf("%s: the file of another is %v of %d", name, info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
		}
		if info, err := os.Lstat(socket); err != nil || info.Mode() != fs.ModeSocket|0o600 || int(info.Sys().(*syscall.Stat_t).Uid) != owner.UID {
			t.Errorf("%s: the socket is %v, %v", name, info, err)
		}
	}
}

// TestListenSecretStaysInTheTask lets the task replace the directory of its
// socket by a link to the outside.
func TestListenSecretStaysInTheTask(t *testing.T) {
	t.Parallel()
	dir, task := taskDirs(t)
	outside := leaktest.TempDir(t)
	if err := os.WriteFile(filepath.Join(outside, "api.sock"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(task.Secrets); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, task.Secrets); err != nil {
		t.Fatal(err)
	}
	if l, err := dir.ListenSecret("t", "api.sock", nil); err == nil {
		_ = l.Close()
		t.Error("a socket was made outside of the task's directory")
	}
	if err := dir.RemoveSecret("t", "api.sock"); err == nil {
		t.Error("a file was removed outside of the task's directory")
	}
	if text, err := os.ReadFile(filepath.Join(outside, "api.sock")); err != nil || string(text) != "precious" {
		t.Errorf("the file of another: %q, %v", text, err)
	}
}

// TestListenSecretRefusesAnotherUsersDirectory lets a task that can write
// beside its own directory put something at the place where the socket is
// created.
func TestListenSecretRefusesAnotherUsersDirectory(t *testing.T) {
	t.Parallel()
	dir, task := taskDirs(t)
	// Others can enter, as with a container. Otherwise it is created in place.
	if err := os.Chmod(task.Secrets, 0o777); err != nil {
		t.Fatal(err)
	}
	staging := filepath.Join(dir.Path(), ".t.socket")
	for name, put := range map[string]func() error{
		"a directory that all can enter": func() error { return errors.Join(os.Mkdir(staging, 0o700), os.Chmod(staging, 0o777)) },
		"a link to one of the task":      func() error { return os.Symlink(task.Local, staging) },
		"a pipe":                         func() error { return syscall.Mkfifo(staging, 0o600) },
		"a directory of another user": func() error {
			if os.Geteuid() != 0 {
				return errors.ErrUnsupported
			}
			return errors.Join(os.Mkdir(staging, 0o700), os.Chown(staging, 65534, 65534))
		},
	} {
		if err := put(); errors.Is(err, errors.ErrUnsupported) {
			t.Logf("not tried: %s takes root", name)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if l, err := dir.ListenSecret("t", "api.sock", nil); err == nil {
			_ = l.Close()
			t.Errorf("the socket was made in %s", name)
		}
		if err := os.RemoveAll(staging); err != nil {
			t.Fatal(err)
		}
	}
}
