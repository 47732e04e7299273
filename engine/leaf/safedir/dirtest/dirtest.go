// Package dirtest has helpers for tests that use directories.
package dirtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/safedir"
)

// Fill creates files with different texts in dir; a name that ends with a slash
// is a directory, one with a pipe sign a named pipe.
func Fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch last := name[len(name)-1]; {
		case err != nil:
		case last == '/':
			err = os.MkdirAll(path, 0o700)
		case last == '|':
			err = unix.Mkfifo(path[:len(path)-1], 0o600)
		default:
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Files returns the names in a directory and below it.
func Files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Open returns a directory that others can reach, unlike t.TempDir.
func Open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// PermOf returns what the ACL of a directory lets a user do. It skips the test where
// the file system has no ACLs.
func PermOf(t *testing.T, dir string, uid int) (perm safedir.Perm) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := safedir.LetIn(root, ".", safedir.Gate, os.Geteuid(), 0); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system has no ACLs")
	}
	for _, p := range []safedir.Perm{safedir.Read, safedir.Write, safedir.Execute} {
		is, err := safedir.IsLetIn(root, uid, p)
		if err != nil {
			t.Fatal(err)
		}
		if is {
			perm |= p
		}
	}
	return perm
}
