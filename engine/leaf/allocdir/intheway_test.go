package allocdir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Obstacles to creating a directory or a file are reported, and left alone.
func TestObstacles(t *testing.T) {
	t.Parallel()
	open := func(data string) error {
		r, err := OpenRun(data, "web", "1")
		if err == nil {
			err = r.Close()
		}
		return err
	}
	clean := func(data string) error { return Clean(data, "web", 0, func() error { return nil }) }
	volume := func(data string) error { _, err := MakeVolume(data, "v", nil); return err }
	for name, tt := range map[string]struct {
		obstacle string // a directory if it ends in a slash
		do       func(data string) error
		want     string // in the error
	}{
		"a file for the jobs":            {"jobs", open, "cannot make directory"},
		"a file for the runs":            {"jobs/web/runs", open, "cannot make directory"},
		"a directory for the lock":       {"jobs/web/lock/", open, "cannot lock job"},
		"cleaning with such a lock":      {"jobs/web/lock/", clean, "cannot lock job"},
		"cleaning with a file for runs":  {"jobs/web/runs", clean, "cannot prune runs"},
		"a file for the volumes":         {"host_volumes", volume, "is in the way"},
		"a file for a volume":            {"host_volumes/v", volume, "host_volumes/v"},
		"a file in a volume":             {"host_volumes/v/data", volume, "data"},
		"a file for the runs of the job": {"jobs/web/runs", func(data string) error { _, err := Runs(data, "web"); return err }, "cannot list the runs"},
		"a file for all jobs":            {"jobs", func(data string) error { _, err := Jobs(data); return err }, "cannot list jobs"},
		"a file for the log":             {"x", func(data string) error { _, err := NewLog(filepath.Join(data, "x")); return err }, "x"},
		"a file for a run to go on":      {"jobs/web/runs/1", func(data string) error { _, err := ReopenRun(RunDir(data, "web", "1"), nil); return err }, "cannot open run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			fill(t, data, tt.obstacle)
			err := tt.do(data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := os.Lstat(filepath.Join(data, tt.obstacle)); err != nil {
				t.Errorf("it is gone: %v", err)
			}
		})
	}
}

// Files of a task get their mode and owner regardless of what was there, and
// nothing is left of one that cannot be written.
func TestFilesForTasks(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	defer d.Close()
	fill(t, d.path, "t/secrets/old", "t/secrets/.old.new", "t/local/full/f", "t/local/.full.new/f")
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
	if got := files(t, filepath.Join(d.path, "t/secrets")); len(got) != 3 {
		t.Errorf("left are %q", got)
	}
}
