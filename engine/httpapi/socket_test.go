package httpapi_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"taskrun/engine/httpapi"
)

// listen listens until the end of the test.
func listen(t *testing.T, dir, name string) (net.Listener, string) {
	t.Helper()
	l, path, err := httpapi.Listen(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// leave leaves a socket like a killed engine.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(socketDir(t), "a", "taskrun")
	l, path := listen(t, dir, "web-1")
	if want := filepath.Join(dir, "web-1.sock"); path != want {
		t.Errorf("path %q, want %q", path, want)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", name, info.Mode(), err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left")
	}
}

func TestListenRefusesASocketInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(socketDir(t), "taskrun")
	_, path := listen(t, dir, "web-1")
	if _, _, err := httpapi.Listen(dir, "web-1"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Error("the first one is gone", err)
	} else {
		_ = conn.Close()
	}
}

func TestListenReplacesAStaleSocket(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	leave(t, filepath.Join(dir, "web-1.sock"))
	listen(t, dir, "web-1")
}

func TestListenRefusesAnotherUsersDirectory(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(socketDir(t), "link")
	if err := os.Symlink(socketDir(t), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(socketDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{dir: "mode 0755", link: "not a directory", file: "not a directory"} {
		if _, _, err := httpapi.Listen(dir, "web-1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
}

func TestListenRefusesNames(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	for _, name := range []string{"", "../web", "a/b", ".hidden", "a\x00b"} {
		if _, _, err := httpapi.Listen(dir, name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestLongPathsAreShortened(t *testing.T) {
	t.Parallel()
	_, path := listen(t, filepath.Join(socketDir(t), "taskrun"), strings.Repeat("x", 200)+"-4711")
	if len(path) != 103 || !strings.HasSuffix(path, "x-4711.sock") {
		t.Errorf("%d bytes: %q", len(path), path)
	}
	deep := filepath.Join(socketDir(t), strings.Repeat("d", 90))
	if _, _, err := httpapi.Listen(deep, "web-4711"); err == nil || !strings.Contains(err.Error(), "too long for a socket; set XDG_RUNTIME_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	_, b := listen(t, dir, "b-2")
	_, a := listen(t, dir, "a-1")
	dead := filepath.Join(dir, "dead-3.sock")
	leave(t, dead)
	unnamed := filepath.Join(dir, ".new") // its engine died before it gave it a name
	leave(t, unnamed)
	other := filepath.Join(dir, "notes.sock") // not a socket
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := httpapi.Find(dir)
	if err != nil || !slices.Equal(found, []string{a, b}) {
		t.Errorf("got %q, %v", found, err)
	}
	for _, path := range []string{dead, unnamed} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", path)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("a file was removed that is no socket")
	}
	if found, err := httpapi.Find(filepath.Join(dir, "nothing")); err != nil || found != nil {
		t.Errorf("got %q, %v", found, err)
	}
}

func TestSocketName(t *testing.T) {
	t.Parallel()
	for job, want := range map[string]string{
		"web": "web-7", "a/b c%": "a_b_c_-7", "..": "-7", "jöb": "j_b-7", "azAZ09_-.x": "azAZ09_-.x-7", "`{@[/:": "______-7",
	} {
		if got := httpapi.SocketName(job, 7); got != want {
			t.Errorf("%q: %q, want %q", job, got, want)
		}
	}
}

// A run that is just starting is not taken for one that has ended.
func TestFindKeepsNewSockets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(socketDir(t), "taskrun")
	stop := make(chan struct{})
	var finding sync.WaitGroup
	for range 4 {
		finding.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := httpapi.Find(dir); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 1000 {
		l, path, err := httpapi.Listen(dir, "web-"+strconv.Itoa(i/2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("run %d: %v", i, err)
		}
		if i%2 == 0 { // it dies, and another one takes its name
			httpapi.Die(l)
		} else {
			_ = l.Close()
		}
	}
	close(stop)
	finding.Wait()
}

func TestPIDOfASocket(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/run/" + httpapi.SocketName("my-web/1", 4711) + ".sock": 4711, "/run/web-12.sock": 12, "/run/web.sock": 0, "": 0,
	} {
		if got := httpapi.PID(path); got != want {
			t.Errorf("%q: %d, want %d", path, got, want)
		}
	}
}

// A file of no engine that cannot be removed is an error.
func TestListenReportsObstacles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make       func(path string) error
		want, find string
	}{
		"a directory that is not empty": {func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) }, "directory not empty", ""},
		"another kind of socket": {func(path string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = syscall.Close(fd) })
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
		}, "wrong type", "wrong type"},
		"a name in the way": {func(path string) error {
			return os.MkdirAll(filepath.Join(filepath.Dir(path), ".new", "x"), 0o700)
		}, "directory not empty", ""},
	} {
		dir := filepath.Join(socketDir(t), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(filepath.Join(dir, "web-1.sock")); err != nil {
			t.Fatal(err)
		}
		if l, _, err := httpapi.Listen(dir, "web-1"); err == nil || !strings.Contains(err.Error(), tt.want) || l != nil {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if _, err := httpapi.Find(dir); (err == nil) != (tt.find == "") || err != nil && !strings.Contains(err.Error(), tt.find) {
			t.Errorf("%s: found %v, want %s", name, err, tt.find)
		}
	}
	file := filepath.Join(socketDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := httpapi.Find(file); err == nil {
		t.Errorf("found in a file: %q", found)
	}
}
