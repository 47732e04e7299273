package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// Check refuses what Save could not write, and changes nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	there, fifo := filepath.Join(dir, "there"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(there, []byte("text"), 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		there: nil, fifo: nil, filepath.Join(dir, "new"): nil, os.DevNull: nil, "/dev/stderr": nil,
		dir: syscall.EISDIR, filepath.Join(dir, "none", "new"): fs.ErrNotExist, filepath.Join(there, "new"): syscall.ENOTDIR,
	} {
		if err := Check(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(there, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := Check(there); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("of a file that is read-only: %v", err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// Append adds to a regular file what fits.
func TestAppend(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	name := filepath.Join(dir, "summary.md")
	add := func(name, text string) error {
		return Append(name, 10, func(room int) string {
			if len(text) > room {
				return ""
			}
			return text
		})
	}
	for _, step := range []struct{ text, want, err string }{
		{"first ", "first ", ""},
		{"and more", "first ", "it has 6 of 10 bytes already"},
		{"2nd", "first 2nd", ""},
	} {
		err := add(name, step.text)
		if got, _ := os.ReadFile(name); string(got) != step.want || (err == nil) != (step.err == "") || err != nil && err.Error() != step.err {
			t.Errorf("%q: %q, %v", step.text, got, err)
		}
	}
	err := Append(name, 3, func(room int) string { return strings.Repeat("x", room) })
	if err == nil || err.Error() != "it has 9 of 3 bytes already" {
		t.Errorf("a file that is too large already: %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := add(fifo, "x"); err == nil { // nobody reads it
		t.Error("a FIFO was written to")
	}
	if err := add(os.DevNull, "x"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a device: %v", err)
	}
}
