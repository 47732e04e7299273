package runtimedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // some tests compare modes
	os.Exit(m.Run())
}

// user is not the user who runs the tests.
var user = os.Getuid() + 1

// mine creates a directory with a mode, regardless of the umask.
func mine(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// short returns a directory of the test with a short path.
func short(t *testing.T) string {
	t.Helper()
	dir := mine(t, filepath.Join("/tmp", prefix+rand.Text()[:8]), 0o700)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFindWithARuntimeDirectory(t *testing.T) {
	t.Parallel()
	uid := os.Geteuid()
	runtime, state := mine(t, filepath.Join(leaktest.TempDir(t), "run"), 0o700), leaktest.TempDir(t)
	usual := "/tmp/taskrun-" + strconv.Itoa(user)
	for name, tt := range map[string]struct {
		env     []string
		mode    os.FileMode
		uid     int
		want    string
		warning string
	}{
		"own":                        {[]string{"XDG_RUNTIME_DIR", runtime}, 0o700, uid, filepath.Join(runtime, "taskrun"), ""},
		"that others read":           {[]string{"XDG_RUNTIME_DIR", runtime}, 0o755, uid, filepath.Join(runtime, "taskrun"), ""},
		"of another user":            {[]string{"XDG_RUNTIME_DIR", runtime}, 0o700, user, usual, ""},
		"that is not there":          {[]string{"XDG_RUNTIME_DIR", runtime + "/x"}, 0o700, user, usual, ""},
		"relative":                   {[]string{"XDG_RUNTIME_DIR", "x", "TMPDIR", "y"}, 0o700, user, usual, ""},
		"none":                       {[]string{"TMPDIR", "/var/tmp"}, 0o700, user, "/var/tmp/taskrun-" + strconv.Itoa(user), ""},
		"root without":               {nil, 0o700, 0, "/var/run/taskrun", ""},
		"root with one of another's": {[]string{"XDG_RUNTIME_DIR", "/nonexistent"}, 0o700, 0, "/var/run/taskrun", ""},
	} {
		if err := os.Chmod(runtime, tt.mode); err != nil {
			t.Fatal(err)
		}
		got, warning, err := Find(env(tt.env...), tt.uid, state)
		if got != tt.want || warning != tt.warning || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q, %q", name, got, warning, err, tt.want, tt.warning)
		}
	}
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o770, 0o702} {
		if err := os.Chmod(runtime, mode); err != nil {
			t.Fatal(err)
		}
		got, warning, err := Find(env("XDG_RUNTIME_DIR", runtime), uid, state)
		if strings.HasPrefix(got, runtime) || err != nil || !strings.Contains(warning, "others can write to") {
			t.Errorf("mode %v: %q, %q, %v", mode, got, warning, err)
		}
	}
}

// If the usual name is taken by anything, another directory is found, always
// the same, and the first one is not touched.
func TestUsualNameIsTaken(t *testing.T) {
	t.Parallel()
	uid := os.Geteuid()
	for name, take := range map[string]func(path string) error{
		"others may use it": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to a directory of the user's": func(path string) error {
			return os.Symlink(mine(t, filepath.Join(leaktest.TempDir(t), "target"), 0o700), path)
		},
		"a link to nothing": func(path string) error { return os.Symlink("/nonexistent/x", path) },
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a FIFO":            func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		tmp, state := leaktest.TempDir(t), filepath.Join(leaktest.TempDir(t), "state")
		usual := filepath.Join(tmp, prefix+strconv.Itoa(uid))
		if err := take(usual); err != nil {
			t.Fatal(err)
		}
		if name == "others may use it" {
			mine(t, usual, 0o777)
		}
		find := func() string {
			dir, err := inTemp(tmp, filepath.Join(state, memoryFile), uid)
			if err != nil || filepath.Dir(dir) != tmp || dir == usual {
				t.Fatalf("%s: %q, %v", name, dir, err)
			}
			return dir
		}
		first := find()
		if err := Make(first); err != nil || find() != first {
			t.Errorf("%s: another directory is found, %v", name, err)
		}
		if err := os.RemoveAll(usual); err != nil || find() != first {
			t.Errorf("%s: another directory is found when the name is free, %v", name, err)
		}
		// A reboot may have removed it.
		if err := os.Remove(first); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(usual, 0o755); err != nil {
			t.Fatal(err)
		}
		if again := find(); again == first || Make(again) != nil {
			t.Errorf("%s: %q is found again", name, again)
		}
	}
}

// Commands that start concurrently agree on a directory.
func TestCommandsAgree(t *testing.T) {
	t.Parallel()
	uid := os.Geteuid()
	tmp, state := leaktest.TempDir(t), leaktest.TempDir(t)
	mine(t, filepath.Join(tmp, prefix+strconv.Itoa(uid)), 0o755)
	var mu sync.Mutex
	found := map[string]bool{}
	var finding sync.WaitGroup
	for range 20 {
		finding.Go(func() {
			dir, err := inTemp(tmp, filepath.Join(state, memoryFile), uid)
			mu.Lock()
			defer mu.Unlock()
			if found[dir] = true; err != nil {
				t.Error(err)
			}
		})
	}
	finding.Wait()
	if len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// A directory for temporary files in which others can rename files is not used.
func TestTempDirWithoutStickyBit(t *testing.T) {
	t.Parallel()
	tmp := mine(t, filepath.Join(short(t), "tmp"), 0o777)
	dir, _, err := Find(env("TMPDIR", tmp), user, leaktest.TempDir(t))
	if strings.HasPrefix(dir, tmp) || err != nil {
		t.Errorf("%q, %v", dir, err)
	}
}

// A directory of another ordinary user is no parent; one of root or of this user is.
func TestParentOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir, uid := leaktest.TempDir(t), os.Geteuid()
	if uid == 0 {
		uid = user
		if err := os.Chown(dir, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkParent(dir, uid+1); err == nil || err.Error() != fmt.Sprintf("%q belongs to another user (uid %d)", dir, uid) {
		t.Errorf("a directory of another user: %v", err)
	}
	for _, dir := range []string{dir, "/"} {
		if err := checkParent(dir, uid); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// If no directory can replace the usual one, the error has both reasons.
func TestNoOtherDirectory(t *testing.T) {
	t.Parallel()
	tmp, uid := leaktest.TempDir(t), os.Geteuid()
	taken := filepath.Join(tmp, prefix+strconv.Itoa(uid))
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := inTemp(tmp, filepath.Join(taken, memoryFile), uid)
	if dir != "" || !errors.Is(err, unix.ENOTDIR) || !strings.Contains(err.Error(), "it is not a directory; no other directory can be made: ") {
		t.Errorf("%q, %v", dir, err)
	}
}

// In a directory for temporary files with a long path, no socket would fit.
func TestLongTempDir(t *testing.T) {
	t.Parallel()
	base, uid := short(t), os.Geteuid()
	if uid == 0 {
		uid = user // root uses none
	}
	for n, fits := range map[int]bool{maxTemp: true, maxTemp + 1: false} {
		tmp := mine(t, filepath.Join(base, strings.Repeat("a", n-len(base)-1)), 0o700)
		dir, warning, err := Find(env("TMPDIR", tmp+"/"), uid, leaktest.TempDir(t))
		if strings.HasPrefix(dir, tmp) != fits || warning != "" || err != nil {
			t.Errorf("%d bytes: %q, %q, %v", len(tmp), dir, warning, err)
		}
	}
}

// A missing directory is distinguished from one that does not belong to the
// user.
func TestCheckOfAMissingDirectory(t *testing.T) {
	t.Parallel()
	if err := Check(filepath.Join(leaktest.TempDir(t), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// The error is that of the attempt to create it.
func TestMakeFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(leaktest.TempDir(t), strings.Repeat("x", 300))
	var failed *fs.PathError
	if err := Make(dir); !errors.As(err, &failed) || failed.Op != "mkdir" || failed.Path != dir {
		t.Errorf("error %v", err)
	}
}

func TestOpenFile(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("good", 0o600)
	write("writable", 0o666)
	write("linked", 0o600)
	for _, err := range []error{
		os.Symlink(at("good"), at("link")), os.Link(at("linked"), at("name")), os.Mkdir(at("dir"), 0o700), unix.Mkfifo(at("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, ok := range map[string]bool{
		"good": true, "writable": false, "link": false, "linked": false, "name": false, "dir": false, "fifo": false, "none": false,
	} {
		f, err := OpenFile(at(name), os.O_RDONLY)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil && err == nil {
			_ = f.Close()
		}
	}
}

// A directory or a file of another user, or one that others can write to, is
// refused.
func TestCheckOfOpenFiles(t *testing.T) {
	t.Parallel()
	dir, file := mine(t, filepath.Join(leaktest.TempDir(t), "dir"), 0o700), filepath.Join(leaktest.TempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(what, path string, mode os.FileMode, check func(*os.File) error, want string) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := check(f); got == nil && want != "" || got != nil && got.Error() != want {
			t.Errorf("%s: %v, want %q", what, got, want)
		}
	}
	check("a private directory", dir, 0o700, CheckDir, "")
	check("a readable directory", dir, 0o755, CheckDir, "")
	check("a directory of a group", dir, 0o770, CheckDir, "others can write to it (mode 0770)")
	check("a directory of all", dir, 0o777|os.ModeSticky, CheckDir, "others can write to it (mode 0777)")
	check("a file as directory", file, 0o600, CheckDir, "it is not a directory")
	check("a file", file, 0o644, CheckFile, "")
	other := os.Geteuid() + 1
	for _, path := range []string{dir, file} {
		if err := os.Chown(path, other, -1); err != nil {
			t.Skipf("only root can give files away: %v", err)
		}
	}
	refused := fmt.Sprintf("it belongs to another user (uid %d)", other)
	check("a directory of another user", dir, 0o700, CheckDir, refused)
	check("a file of another user", file, 0o600, CheckFile, refused)
	if err := Check(dir); err == nil || err.Error() != refused {
		t.Errorf("a directory of another user by its path: %v", err)
	}
}
