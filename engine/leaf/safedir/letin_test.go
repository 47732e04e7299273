package safedir

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// A directory that cannot be locked or opened is not changed, and its user learns of
// it: the task could not run.
func TestUserIsNotAdded(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(leaktest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := LetIn(root, "none", Gate, 1000, Read|Execute); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	f, err := root.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := addUser(f, Gate, 1000, Read|Execute); err == nil {
		t.Error("a closed directory gets another user")
	}
}

// A user who is let in keeps its permissions, and the others stay out.
func TestLetIn(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(leaktest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Chmod(".", Gate); err != nil {
		t.Fatal(err)
	}
	const some, other = 4321, 4323
	err = LetIn(root, ".", Gate|fs.ModeSticky, some, Read|Write|Execute)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system has no ACLs")
	}
	if err := errors.Join(err, LetIn(root, ".", Gate, some, Read|Execute), LetIn(root, ".", Gate, other, Execute)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		uid  int
		perm Perm
		want bool
	}{{some, Read | Write | Execute, true}, {some, Write, true}, {other, Execute, true}, {other, Read | Execute, false}, {4325, Execute, false}} {
		if got, err := IsLetIn(root, tt.uid, tt.perm); err != nil || got != tt.want {
			t.Errorf("user %d may %o: %v, %v", tt.uid, tt.perm, got, err)
		}
	}
	if info, err := root.Stat("."); err != nil || info.Mode()&fs.ModeSticky == 0 || info.Mode()&0o007 != 0 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}
