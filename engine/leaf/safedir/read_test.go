package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

// Only regular files are read, up to a limit, and nothing waits for their content.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700), unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")), os.Symlink("/etc/passwd", filepath.Join(dir, "out")),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		limit int64
		want  string
		err   string
	}{
		{"file", 4, "text", ""},
		{"file", 3, "", "read file: larger than 0 MiB"},
		{"link", 4, "text", ""},
		{"empty", 0, "", ""},
		{"dir", 4, "", "read dir: not a regular file"},
		{"fifo", 4, "", "read fifo: not a regular file"},
		{"out", 4, "", "path escapes"},
		{"none", 4, "", "no such file"},
	} {
		text, err := ReadFile(root, c.name, c.limit)
		if string(text) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s, up to %d bytes: %q, %v", c.name, c.limit, text, err)
		}
	}
	f, info, err := OpenFile(root, "file")
	if err != nil || info.Size() != 4 || f.Close() != nil {
		t.Errorf("%v, %v", info, err)
	}
}
