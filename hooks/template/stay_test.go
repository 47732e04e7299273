package template

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/allocdir"
)

// TestNoLinkLeadsToAnotherTask lets a task put a link to another one's secrets
// at the paths of its template.
func TestNoLinkLeadsToAnotherTask(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
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

// Reading a file leaves no descriptor open.
func TestReadPlacedCloses(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	path := t.TempDir()
	file := filepath.Join(path, "t", "local", "file")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, err := readPlaced(path, file); err != nil || string(text) != "text" {
		t.Fatalf("%q, %v", text, err)
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, path) {
			t.Errorf("%s is still open", target)
		}
	}
}
