package scratch

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder in memory is on a file system in memory, and new.
func TestInMemory(t *testing.T) {
	t.Parallel()
	dir := InMemory("scratch-test-")
	if dir == "" {
		var fs unix.Statfs_t
		if err := unix.Statfs("/dev/shm", &fs); err == nil && fs.Type == unix.TMPFS_MAGIC && fs.Bavail*uint64(fs.Bsize) > 1<<30 {
			t.Error("there is room in /dev/shm")
		}
		t.Skip("there is little memory for files")
	}
	defer os.Remove(dir)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Errorf("%s: %+v, %v", dir, fs, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("it has %v, %v", entries, err)
	}
}
