package safedir

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// A directory that cannot be locked or opened is not changed, and its user learns of
// it: the task could not run.
func TestUserIsNotAdded(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
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
