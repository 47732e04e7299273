package main_test

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outsider is a UID without a user name and without a task.
const outsider = 4242

// asUser calls f as another user of this machine, in a thread that ends with
// the goroutine.
func asUser(uid int, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		for _, call := range [][4]uintptr{
			{syscall.SYS_SETGROUPS},
			{syscall.SYS_SETRESGID, uintptr(uid), uintptr(uid), uintptr(uid)},
			{syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- errno
				return
			}
		}
		f()
		done <- nil
	}()
	return <-done
}

// attempts are what a neighbor tries with a path. Each of them undoes its
// effect, so that the next one finds the path unchanged.
var attempts = []struct {
	name string
	try  func(path string, info fs.FileInfo) bool
}{
	{"read", func(path string, info fs.FileInfo) bool {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err == nil {
			f.Close()
		}
		return err == nil
	}},
	{"write", func(path string, info fs.FileInfo) bool {
		if !info.IsDir() {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
			if err == nil {
				f.Close()
			}
			return err == nil
		}
		inside := filepath.Join(path, "evil")
		err := os.Symlink("/", inside)
		if err == nil {
			_ = os.Remove(inside)
		}
		return err == nil
	}},
	{"rename", func(path string, _ fs.FileInfo) bool {
		err := os.Rename(path, path+".old")
		if err == nil {
			_ = os.Rename(path+".old", path)
		}
		return err == nil
	}},
	{"replace", func(path string, _ fs.FileInfo) bool {
		other := filepath.Join(filepath.Dir(path), ".evil")
		if os.Symlink("/", other) != nil {
			return false
		}
		err := os.Rename(other, path)
		_ = os.Remove(other)
		return err == nil
	}},
	{"change the mode of", func(path string, info fs.FileInfo) bool {
		return info.Mode()&fs.ModeSymlink == 0 && os.Chmod(path, info.Mode()) == nil
	}},
	{"change the owner of", func(path string, info fs.FileInfo) bool {
		stat := info.Sys().(*syscall.Stat_t)
		return os.Lchown(path, int(stat.Uid), int(stat.Gid)) == nil
	}},
	{"link", func(path string, info fs.FileInfo) bool {
		err := os.Link(path, path+".link")
		if err == nil {
			_ = os.Remove(path + ".link")
		}
		return err == nil
	}},
}

// everything returns a directory and everything below it.
func everything(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		all[path] = info
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// attack makes a user try every attempt on everything below dir, and reports
// those that succeed but are not allowed.
func attack(t *testing.T, uid int, dir string, allowed func(attempt, path string, info fs.FileInfo) bool) {
	t.Helper()
	all := everything(t, dir)
	tried := 0
	if err := asUser(uid, func() {
		for path, info := range all {
			for _, a := range attempts {
				tried++
				if a.try(path, info) && !allowed(a.name, path, info) {
					t.Errorf("user %d can %s %s, which is %v", uid, a.name, path, info.Mode())
				}
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if tried < 100 {
		t.Errorf("user %d tried only %d things", uid, tried)
	}
}

// TestNeighborsGainNothing runs tasks of root and of two other users in one
// allocation. The tasks themselves, other processes of their users and a user
// without a task try to read, replace and change files that are not theirs.
func TestNeighborsGainNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, whose tasks run as other users")
	}
	uids := map[string]int{}
	for _, name := range []string{"nobody", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			t.Skip(err)
		}
		if uids[name], err = strconv.Atoi(u.Uid); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tr") //nolint:usetesting // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, self, "up", "--output", "json", "--data-dir", data, "testdata/neighbors.nomad.hcl")
	c.Env = append(os.Environ(), asTaskrun+"=1", "XDG_RUNTIME_DIR="+filepath.Join(dir, "sockets"))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	var stderr strings.Builder
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	ready := 0
	for lines := bufio.NewScanner(stdout); ready < 3 && lines.Scan(); {
		said = append(said, lines.Text())
		switch text := lines.Text(); {
		case strings.Contains(text, `"line":"READY"`):
			ready++
		case strings.Contains(text, `"line":"COULD`):
			t.Error(text)
		}
	}
	if ready < 3 {
		cancel()
		_ = c.Wait()
		t.Fatalf("the tasks did not start: %s\n%s", stderr.String(), strings.Join(said, "\n"))
	}
	attack(t, outsider, dir, func(attempt, path string, _ fs.FileInfo) bool {
		return attempt == "read" && path == dir
	})
	for name, uid := range uids {
		attack(t, uid, dir, func(attempt, path string, info fs.FileInfo) bool {
			return path == dir && attempt == "read" || ofTask(name, uid, data, attempt, path, info)
		})
	}
	cancel()
	_ = c.Wait()
	attack(t, outsider, dir, func(attempt, path string, _ fs.FileInfo) bool {
		return attempt == "read" && path == dir
	})
}

// ofTask reports whether the user of a task may do something: everything below
// the task's directory except the engine's files, and in the shared directories
// everything that replaces no file of others.
func ofTask(task string, uid int, data, attempt, path string, info fs.FileInfo) bool {
	owns := int(info.Sys().(*syscall.Stat_t).Uid) == uid
	in := func(pattern string) bool {
		for _, suffix := range []string{"", "/*", "/*/*"} {
			if ok, _ := filepath.Match(filepath.Join(data, pattern)+suffix, path); ok {
				return true
			}
		}
		return false
	}
	is := func(pattern string) bool {
		ok, _ := filepath.Match(filepath.Join(data, pattern), path)
		return ok
	}
	const alloc = "jobs/*/runs/*/alloc/*"
	switch {
	case is(alloc + "/" + task), is(alloc + "/" + task + "/secrets"), is(alloc + "/alloc"), is(alloc + "/alloc/data"), is(alloc + "/alloc/tmp"), is("host_volumes/shared/data"):
		return attempt == "read" || attempt == "write"
	case is(alloc + "/" + task + "/private"):
		return false
	case is(alloc + "/" + task + "/shared"): // a link created by the engine in a directory with the sticky bit
		return attempt == "read"
	case in(alloc + "/" + task):
		return true
	case is(alloc), in(alloc + "/alloc/logs"), is("host_volumes/shared"):
		return attempt == "read"
	case in(alloc + "/alloc"), in("host_volumes/shared/data"):
		return attempt == "read" || attempt == "link" || owns
	}
	return false
}
