package allocdir

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // some tests compare modes
	os.Exit(m.Run())
}

// newAlloc builds an allocation with tasks.
func newAlloc(t testing.TB, tasks ...string) string {
	t.Helper()
	dir := filepath.Join(leaktest.TempDir(t), "9f8a")
	buildAlloc(t, dir, nil, tasks...)
	return dir
}

// at is At for the time of a test.
func at(t testing.TB, path string) *Dir {
	t.Helper()
	d := At(path)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// buildAlloc builds an allocation with tasks of one owner.
func buildAlloc(t testing.TB, path string, owner *Owner, tasks ...string) *Dir {
	t.Helper()
	d := at(t, path)
	if err := d.Build(); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := d.BuildTask(task, owner); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// tree returns the mode of everything below dir.
func tree(t testing.TB, dir string) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		modes[name] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// TestModes compares the created directories with the table in modes.go.
func TestModes(t *testing.T) {
	t.Parallel()
	const sticky = fs.ModeSticky
	open, isolated := newAlloc(t, "web"), newAlloc(t, "web")
	d := At(isolated)
	defer d.Close()
	if err := errors.Join(d.Isolate("web"), d.BuildTask("db", nil)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]map[string]fs.FileMode{
		open: {
			".": 0o700, "alloc": 0o777, "alloc/data": 0o777, "alloc/logs": 0o777, "alloc/tmp": 0o777,
			"web": 0o777, "web/local": 0o777, "web/tmp": 0o777 | sticky, "web/secrets": 0o700, "web/private": 0o700,
		},
		isolated: {
			".": 0o700, "alloc": 0o777 | sticky, "alloc/data": 0o777 | sticky, "alloc/logs": 0o755, "alloc/tmp": 0o777 | sticky,
			"web": 0o700, "web/local": 0o777, "web/tmp": 0o777 | sticky, "web/secrets": 0o777, "web/private": 0o700,
			"db": 0o700, "db/local": 0o777, "db/tmp": 0o777 | sticky, "db/secrets": 0o700, "db/private": 0o700,
		},
	} {
		got := tree(t, path)
		for name, mode := range want {
			if got[name] != mode|fs.ModeDir {
				t.Errorf("%s: mode %v, want %v", name, got[name], mode|fs.ModeDir)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if err := d.Isolate("nobody"); err == nil {
		t.Error("a task without directories was prepared")
	}
}

func TestPathsMatchBuild(t *testing.T) {
	t.Parallel()
	dir := newAlloc(t, "web")
	shared, task := SharedOf(dir), TaskOf(dir, "web")
	for _, path := range []string{
		shared.Dir, filepath.Join(shared.Dir, "data"), shared.Logs, filepath.Join(shared.Dir, "tmp"),
		task.Dir, task.Local, filepath.Join(task.Dir, "tmp"), task.Secrets, task.Private,
	} {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestBuildIsIdempotent(t *testing.T) {
	t.Parallel()
	dir := newAlloc(t, "web")
	if err := os.Chmod(filepath.Join(dir, "web", "local"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web", "secrets", "token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	buildAlloc(t, dir, nil, "web")
	after := tree(t, dir)
	for name, mode := range before {
		if after[name] != mode {
			t.Errorf("%s: mode %v, was %v", name, after[name], mode)
		}
	}
}

func TestBuildFailsClearly(t *testing.T) {
	t.Parallel()
	outside := leaktest.TempDir(t)
	for name, tt := range map[string]struct {
		task    string
		prepare func(dir string) error
		want    string
	}{
		"task is a path":    {"../web", nil, `task "../web": no task can have that name`},
		"task is above":     {"..", nil, `no task can have that name`},
		"no name":           {"", nil, `no task can have that name`},
		"task named alloc":  {"alloc", nil, `task "alloc": no task can have that name`},
		"file for the task": {"web", func(dir string) error { return os.WriteFile(filepath.Join(dir, "web"), nil, 0o600) }, `cannot make directory ".*/web": a file is in the way`},
		"link for the task": {"web", func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "web")) }, `cannot make directory ".*/web": a file is in the way`},
		"no allocation":     {"web", os.RemoveAll, `cannot open directory ".*": .*no such file`},
		"file for secrets": {"web", func(dir string) error {
			return inTask(dir, func(d string) error { return os.WriteFile(d, nil, 0o600) })
		}, `cannot make directory ".*/web/secrets": a file is in the way`},
		"link for secrets":    {"web", func(dir string) error { return inTask(dir, func(d string) error { return os.Symlink(outside, d) }) }, `cannot make directory ".*/web/secrets": a file is in the way`},
		"long name of a task": {string(make([]byte, 300)), nil, `no task can have that name`},
	} {
		dir := newAlloc(t)
		if tt.prepare != nil {
			if err := tt.prepare(dir); err != nil {
				t.Fatal(err)
			}
		}
		err := at(t, dir).BuildTask(tt.task, nil)
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if err := at(t, filepath.Join(outside, "none", "9f8a")).Build(); err == nil || !strings.Contains(err.Error(), "cannot open directory") {
		t.Errorf("nowhere: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
}

// inTask creates the directory of task web and something named secrets in it.
func inTask(dir string, make func(name string) error) error {
	if err := os.Mkdir(filepath.Join(dir, "web"), 0o700); err != nil {
		return err
	}
	return make(filepath.Join(dir, "web", "secrets"))
}

func TestTaskNamesMayHoldDots(t *testing.T) {
	t.Parallel()
	dir := newAlloc(t, ".web", "a.b", "...")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"...", ".web", "a.b", "alloc"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestOwnerOf(t *testing.T) {
	t.Parallel()
	if owner, err := OwnerOf(""); owner != nil || err != nil {
		t.Errorf("no user: %v, %v", owner, err)
	}
	current, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	owner, err := OwnerOf(current.Username)
	switch {
	case err != nil:
		t.Error(err)
	case os.Geteuid() != 0 && owner != nil:
		t.Errorf("not root, but %v", owner)
	case os.Geteuid() == 0 && (owner == nil || strconv.Itoa(owner.UID) != current.Uid):
		t.Errorf("%v, want uid %s", owner, current.Uid)
	}
	if os.Geteuid() == 0 {
		if _, err := OwnerOf("no such user"); err == nil {
			t.Error("unknown user: no error")
		}
	}
}

// BenchmarkBuild creates the directories of an allocation with 1000 tasks.
func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		d := At(filepath.Join(leaktest.TempDir(b), "9f8a"))
		b.StartTimer()
		if err := d.Build(); err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			if err := d.BuildTask(strconv.Itoa(i), nil); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		_ = d.Close()
		b.StartTimer()
	}
}

// BenchmarkBuildAllocs creates the directories of 1000 allocations with one
// task each.
func BenchmarkBuildAllocs(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		parent := leaktest.TempDir(b)
		b.StartTimer()
		for i := range 1000 {
			d := At(filepath.Join(parent, strconv.Itoa(i)))
			if err := errors.Join(d.Build(), d.BuildTask("web", nil), d.Close()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
