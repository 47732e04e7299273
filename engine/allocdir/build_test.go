package allocdir

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// newAlloc builds an allocation with tasks.
func newAlloc(t testing.TB, tasks ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "9f8a")
	if _, err := Build(dir); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if _, err := BuildTask(dir, task, nil); err != nil {
			t.Fatal(err)
		}
	}
	return dir
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

func TestLayoutIsNomads(t *testing.T) {
	t.Parallel()
	want := map[string]fs.FileMode{
		".": 0o755, "alloc": 0o777, "alloc/data": 0o777, "alloc/logs": 0o777, "alloc/tmp": 0o777,
		"web": 0o777, "web/local": 0o777, "web/tmp": 0o777 | fs.ModeSticky, "web/secrets": 0o700, "web/private": 0o700,
	}
	got := tree(t, newAlloc(t, "web"))
	for name, mode := range want {
		if got[name] != mode|fs.ModeDir {
			t.Errorf("%s: mode %v, want %v", name, got[name], mode|fs.ModeDir)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPathsAreThoseThatAreBuilt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "9f8a")
	shared, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	task, err := BuildTask(dir, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		shared.Dir, shared.Data, shared.Logs, shared.Tmp,
		task.Dir, task.Local, task.Tmp, task.Secrets, task.Private,
	} {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("%q: %v", path, err)
		}
	}
	if shared != SharedOf(dir) || task != TaskOf(dir, "web") {
		t.Error("SharedOf and TaskOf name other paths")
	}
}

func TestBuildingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	dir := newAlloc(t, "web")
	if err := os.Chmod(filepath.Join(dir, "web", "local"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web", "secrets", "token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	if _, err := Build(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := BuildTask(dir, "web", nil); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	for name, mode := range before {
		if after[name] != mode {
			t.Errorf("%s: mode %v, was %v", name, after[name], mode)
		}
	}
}

func TestBuildFailsClearly(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
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
		_, err := BuildTask(dir, tt.task, nil)
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
}

// inTask makes the directory of task web and something named secrets in it.
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

func TestOwnerGetsTheTaskDirectories(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := newAlloc(t)
	task, err := BuildTask(dir, "web", &Owner{UID: 4321, GID: 4322})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{task.Dir, task.Local, task.Tmp, task.Secrets, task.Private} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 4321 || st.Gid != 4322 {
			t.Errorf("%s belongs to %d:%d", path, st.Uid, st.Gid)
		}
	}
	if info, err := os.Stat(task.Tmp); err != nil || info.Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("mode of tmp: %v, %v", info.Mode(), err)
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

// BenchmarkBuild makes the directories of an allocation of 1000 tasks.
func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		dir := filepath.Join(b.TempDir(), "9f8a")
		b.StartTimer()
		if _, err := Build(dir); err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			if _, err := BuildTask(dir, strconv.Itoa(i), nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func TestIsolateOpensSecretsAndClosesTheWay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "alloc")
	if _, err := Build(dir); err != nil {
		t.Fatal(err)
	}
	task, err := BuildTask(dir, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Isolate(dir, "web"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{task.Dir: 0o700, task.Secrets: 0o777, task.Local: 0o777} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	if err := Isolate(dir, "nobody"); err == nil {
		t.Error("a task without directories was prepared")
	}
}
