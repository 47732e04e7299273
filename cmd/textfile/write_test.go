package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestWriteReplacesOnlyTheText(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	name := filepath.Join(dir, "a.hcl")
	if err := os.WriteFile(name, []byte("old and long"), 0o600); err != nil {
		t.Fatal(err)
	}
	mode := fs.FileMode(0o640) | fs.ModeSetgid
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(name) // a reader has the file open
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for i, link := range []string{"link.hcl", "link to a link.hcl"} {
		target := []string{"a.hcl", "link.hcl"}[i]
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(filepath.Join(dir, "link to a link.hcl"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode() != mode {
		t.Errorf("the mode is %v, %v, want %v", info.Mode(), err, mode)
	}
	old := make([]byte, 20)
	if n, _ := reader.Read(old); string(old[:n]) != "old and long" {
		t.Errorf("who was reading gets %q", old[:n])
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestWriteRefusesReadOnlyFiles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	name := filepath.Join(leaktest.TempDir(t), "a.hcl")
	if err := os.WriteFile(name, []byte("old"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, []byte("new")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want a refusal", err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "old" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestWriteOfNothing(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := Write(filepath.Join(dir, "a.hcl"), []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
