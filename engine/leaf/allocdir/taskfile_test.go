package allocdir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

// Files of a task get their mode and owner regardless of an earlier file, and
// nothing is left of one that cannot be written.
func TestFilesForTasks(t *testing.T) {
	t.Parallel()
	d := At(leaktest.TempDir(t))
	defer d.Close()
	dirtest.Fill(t, d.path, "t/secrets/old", "t/secrets/.old.new", "t/local/full/f", "t/local/.full.new/f")
	owner := &Owner{UID: os.Geteuid(), GID: os.Getegid()}
	if os.Geteuid() == 0 {
		owner = &Owner{UID: 12345, GID: 12346}
	}
	for name, tt := range map[string]struct {
		write func(name string) error
		mode  os.FileMode
		gid   int // -1: that of the directory or the program
	}{
		"secrets/old":     {func(name string) error { return d.WriteSecret("t", name, []byte("x"), owner) }, 0o600, owner.GID},
		"secrets/a/token": {func(name string) error { return d.WriteToken("t", name, []byte("x"), owner) }, 0o600, -1},
		"secrets/b/open":  {func(name string) error { return d.WriteToken("t", name, []byte("x"), nil) }, 0o644, -1},
		"local/script":    {func(name string) error { return d.WriteFile("t", name, []byte("x")) }, 0o755, -1},
	} {
		if err := tt.write(name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		path := filepath.Join(d.path, "t", name)
		info, err := os.Stat(path)
		text, readErr := os.ReadFile(path)
		if err != nil || readErr != nil || string(text) != "x" {
			t.Fatalf("%s: %q, %v, %v", name, text, err, readErr)
		}
		uid := os.Geteuid()
		if tt.mode == 0o600 {
			uid = owner.UID
		}
		stat := info.Sys().(*syscall.Stat_t)
		if info.Mode() != tt.mode || int(stat.Uid) != uid || tt.gid >= 0 && int(stat.Gid) != tt.gid {
			t.Errorf("%s: %v of %d:%d, want %v of %d:%d", name, info.Mode(), stat.Uid, stat.Gid, tt.mode, uid, tt.gid)
		}
	}
	for task, name := range map[string]string{"t": "local/full", "": "x", "none": "x"} {
		if err := d.WriteFile(task, name, nil); err == nil {
			t.Errorf("%q of task %q was written", name, task)
		}
	}
	if got := dirtest.Files(t, filepath.Join(d.path, "t/secrets")); len(got) != 3 {
		t.Errorf("left are %q", got)
	}
}
