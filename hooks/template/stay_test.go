package template

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

// TestNoLinkLeadsToAnotherTask lets a task put a link to another one's secrets
// at the paths of its template.
func TestNoLinkLeadsToAnotherTask(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	dir := allocdir.At(path)
	defer func() { _ = dir.Close() }()
	secrets := filepath.Join(path, "other", "secrets")
	if err := errors.Join(
		dir.Build(), dir.BuildTask("t", nil), dir.BuildTask("other", nil),
		os.WriteFile(filepath.Join(secrets, "password"), []byte("secret"), 0o600),
		os.Symlink("../../other/secrets", filepath.Join(path, "t", "local", "link")),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := readPlaced(path, filepath.Join(path, "t", "local", "link", "password")); err == nil {
		t.Errorf("read %q of another task", text)
	}
	for _, name := range []string{"password", "new"} {
		s := &spec{dest: filepath.Join("t", "local", "link", name), perms: 0o644, uid: -1, gid: -1}
		if _, err := s.write(path, []byte("evil")); err == nil {
			t.Errorf("wrote %s of another task", name)
		}
	}
	if entries, err := os.ReadDir(secrets); err != nil || len(entries) != 1 {
		t.Errorf("the other task has %v, %v", entries, err)
	}
}

// What is written again keeps the owner that a task gave it, unless the template names
// one. A text that has not changed is written again if its owner is another one.
func TestOwnerOfAFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change owners")
	}
	const user = 12345
	path := leaktest.TempDir(t)
	file := filepath.Join(path, "t", "local", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		uid, gid int
		text     string
		changed  bool
		want     [2]int
	}{
		{-1, -1, "new", true, [2]int{user, user}},
		{-1, -1, "old", false, [2]int{user, user}},
		{0, -1, "new", true, [2]int{0, user}},
		{-1, 0, "new", true, [2]int{user, 0}},
		{0, 0, "old", true, [2]int{0, 0}},
		{user, user, "old", false, [2]int{user, user}},
		{user + 1, -1, "old", true, [2]int{user + 1, user}},
		{-1, user + 1, "old", true, [2]int{user, user + 1}},
	} {
		if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chown(file, user, user)); err != nil {
			t.Fatal(err)
		}
		s := &spec{dest: filepath.Join("t", "local", "file"), perms: 0o644, uid: c.uid, gid: c.gid}
		changed, err := s.write(path, []byte(c.text))
		if err != nil || changed != c.changed {
			t.Errorf("%+v: changed %t, %v", c, changed, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		if got := [2]int{int(owner.Uid), int(owner.Gid)}; got != c.want {
			t.Errorf("%+v: the owner is %v", c, got)
		}
	}
}

// Reading a file leaves no descriptor open.
func TestReadPlacedCloses(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	file := filepath.Join(path, "t", "local", "file")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, err := readPlaced(path, file); err != nil || string(text) != "text" {
		t.Fatalf("%q, %v", text, err)
	}
	if open := leaktest.Open(path); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
}
