package textfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// A folder means its job files: links to files count, but not links to folders
// and special files. A named file must be one that can be formatted.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.MkdirAll(at("sub/folder.hcl"), 0o700),
		os.WriteFile(at("a.hcl"), nil, 0o600), os.WriteFile(at("b.nomad"), nil, 0o600), os.WriteFile(at("c.txt"), nil, 0o600),
		os.WriteFile(at("sub/d.hcl"), nil, 0o600), os.WriteFile(at("sub/folder.hcl/e.hcl"), nil, 0o600),
		os.Symlink("a.hcl", at("link.hcl")), os.Symlink("sub", at("folder link.hcl")), os.Symlink("none", at("broken.hcl")),
		syscall.Mkfifo(at("fifo.hcl"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name      string
		recursive bool
		found     []string
		refused   string
	}{
		{"", false, []string{"a.hcl", "b.nomad", "link.hcl"}, ""},
		{"", true, []string{"a.hcl", "b.nomad", "link.hcl", "sub/d.hcl", "sub/folder.hcl/e.hcl"}, ""},
		{"folder link.hcl", false, []string{"folder link.hcl/d.hcl"}, ""},
		{"link.hcl", false, []string{"link.hcl"}, ""},
		{"c.txt", false, nil, "its name ends neither in .hcl nor in .nomad"},
		{"fifo.hcl", false, nil, "it is not a regular file"},
		{"broken.hcl", false, nil, "there is no such file"},
		{"a.hcl/x.hcl", false, nil, "not a directory"},
	} {
		f := Finder{Recursive: tt.recursive}
		f.Add(at(tt.name))
		var want []string
		for _, name := range tt.found {
			want = append(want, at(name))
		}
		if !slices.Equal(f.Names, want) {
			t.Errorf("%q: found %q, want %q", tt.name, f.Names, want)
		}
		said := ""
		for _, d := range f.Diagnostics {
			said += d.Summary
		}
		if (said != "") != (tt.refused != "") || !strings.HasSuffix(said, tt.refused) {
			t.Errorf("%q: said %q, want %q", tt.name, said, tt.refused)
		}
	}
}

// Errors do not repeat the path that is shown with them.
func TestErrorsWithoutPath(t *testing.T) {
	t.Parallel()
	name := filepath.Join(leaktest.TempDir(t), "none.hcl")
	if _, err := Read(name); err == nil || strings.Contains(err.Error(), name) {
		t.Errorf("reading gives %v", err)
	}
	if err := Write(name, nil); err == nil || strings.Contains(err.Error(), name) {
		t.Errorf("writing gives %v", err)
	}
	if _, err := os.Lstat(name); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
}
