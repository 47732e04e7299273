package allocdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir"
	"taskrun/engine/leaf/safedir/dirtest"
)

const (
	someUser  = 4321
	otherUser = 4323
)

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
}

func TestGatesOpenForTheUsersOfTasks(t *testing.T) {
	t.Parallel()
	asRoot(t)
	path := filepath.Join(leaktest.TempDir(t), "9f8a")
	d := buildAlloc(t, path, nil, "root")
	for task, uid := range map[string]int{"web": someUser, "db": otherUser} {
		if err := d.BuildTask(task, &Owner{uid, uid + 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path        string
		some, other safedir.Perm
	}{{"", 5, 5}, {"web", 7, 0}, {"db", 0, 7}, {"root", 0, 0}, {"alloc", 0, 0}, {"web/secrets", 7, 0}} {
		at := filepath.Join(path, tt.path)
		if some, other := dirtest.PermOf(t, at, someUser), dirtest.PermOf(t, at, otherUser); some != tt.some || other != tt.other {
			t.Errorf("%s: %o and %o, want %o and %o", at, some, other, tt.some, tt.other)
		}
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		uid  int
	}{
		"":            {0o750, 0},
		"web":         {0o770 | sticky, 0},
		"web/local":   {0o777, someUser},
		"web/tmp":     {0o777 | sticky, someUser},
		"web/secrets": {0o770, 0},
		"web/private": {0o700, 0},
		"alloc":       {0o777 | sticky, 0},
		"alloc/data":  {0o777 | sticky, 0},
		"alloc/logs":  {0o755, 0},
		"root":        {0o700, 0},
		"root/local":  {0o777, 0},
	} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); info.Mode() != want.mode|fs.ModeDir || uid != want.uid {
			t.Errorf("%q: mode %v of %d, want %v of %d", name, info.Mode(), uid, want.mode, want.uid)
		}
	}
}

// TestBuildKeepsOwners lets the user of a task replace its directories before
// they are built again, as after a crash.
func TestBuildKeepsOwners(t *testing.T) {
	t.Parallel()
	asRoot(t)
	path := filepath.Join(leaktest.TempDir(t), "9f8a")
	owner := &Owner{someUser, someUser}
	d := buildAlloc(t, path, owner, "web")
	secret := filepath.Join(leaktest.TempDir(t), "secret")
	if err := errors.Join(
		os.WriteFile(secret, nil, 0o600),
		os.Remove(filepath.Join(path, "web", "local")),
		os.Link(secret, filepath.Join(path, "web", "local")),
	); err != nil {
		t.Fatal(err)
	}
	_ = d.BuildTask("web", owner)
	info, err := os.Stat(secret)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode() != 0o600 {
		t.Errorf("the file was given away: %v, %v", info, err)
	}
}

// TestGatesWithoutACLs simulates file systems without ACLs.
func TestGatesWithoutACLs(t *testing.T) {
	t.Parallel()
	asRoot(t)
	owner := func(uid int) *Owner { return &Owner{uid, uid} }
	give := func(d *Dir, task string, uid int) error {
		gate, err := d.Alloc()
		if err != nil {
			t.Fatal(err)
		}
		dir, err := d.Task(task)
		if err != nil {
			t.Fatal(err)
		}
		err = admitAlone(gate, dir, task, owner(uid))
		if err == nil {
			d.gateUID = uid
		}
		return err
	}
	path := filepath.Join(leaktest.TempDir(t), "9f8a")
	d := buildAlloc(t, path, nil, "web")
	if err := give(d, "web", someUser); err != nil {
		t.Fatal(err)
	}
	for name, uid := range map[string]int{"": someUser, "web": someUser, "alloc": 0, "alloc/logs": 0, "web/secrets": someUser, "web/private": 0} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
	if err := d.BuildTask("db", owner(someUser)); err != nil {
		t.Errorf("another task of the same user: %v", err)
	}
	for _, other := range []*Owner{nil, owner(otherUser)} {
		if err := d.BuildTask("other", other); err == nil || !strings.Contains(err.Error(), "same user") {
			t.Errorf("a task of another user: %v", err)
		}
	}
	if err := errors.Join(d.Build(), at(t, path).Build()); err != nil {
		t.Errorf("building again: %v", err)
	}

	d = buildAlloc(t, filepath.Join(leaktest.TempDir(t), "9f8a"), nil, "root", "web")
	if err := give(d, "web", someUser); err == nil {
		t.Error("the user of one task got the directory of another user's task")
	}

	logs := filepath.Join(path, "alloc", "logs")
	if err := errors.Join(os.Rename(logs, logs+".old"), os.Mkdir(logs, 0o700), os.Chown(logs, someUser, someUser)); err != nil {
		t.Fatal(err)
	}
	if _, err := at(t, path).Logs(); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("the logs that a task has replaced: %v", err)
	}
}

func TestCheckTrustedKnowsACLs(t *testing.T) {
	t.Parallel()
	asRoot(t)
	path := filepath.Join(dirtest.Open(t), "9f8a")
	d := buildAlloc(t, path, nil, "root")
	if err := errors.Join(d.BuildTask("web", &Owner{someUser, someUser}), d.BuildTask("db", &Owner{otherUser, otherUser})); err != nil {
		t.Fatal(err)
	}
	dirtest.PermOf(t, path, someUser) // may skip the test
	in := func(name string) string { return filepath.Join(path, name) }
	for _, file := range []string{"web/local/own", "root/local/own", "alloc/data/root", "alloc/data/others", "alloc/data/open"} {
		if err := os.WriteFile(in(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Chown(in("alloc/data/others"), otherUser, otherUser), os.Chmod(in("alloc/data/open"), 0o666),
		os.Symlink("../../alloc/data/root", in("web/local/root")), os.Symlink("../../alloc/data/others", in("web/local/others")),
	); err != nil {
		t.Fatal(err)
	}
	for name, trusted := range map[string]bool{
		"web/local/own": true, "web/local/root": true, "web/local/others": false, "alloc/data/open": false,
		"db/local/own": false, "root/local/own": true,
	} {
		if err := safedir.CheckTrusted(in(name), someUser); (err == nil) != trusted {
			t.Errorf("%s: %v", name, err)
		}
	}
}
