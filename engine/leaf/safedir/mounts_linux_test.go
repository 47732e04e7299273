package safedir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What the kernel says of this machine is found: below the directory of each mount
// point, that mount point.
func TestMountsIn(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range findMounts(string(table), "") {
		dir, name := filepath.Split("/" + path)
		if dir != "/dev/" && dir != "/sys/fs/" { // elsewhere, mounts come and go
			continue
		}
		mounts, err := MountsIn(dir)
		if err != nil || !slices.Contains(mounts, name) {
			t.Errorf("in %s are %q, %v; and not %s", dir, mounts, err, name)
		}
		found++
	}
	if found == 0 {
		t.Skip("nothing is mounted in /dev and /sys/fs")
	}
	if _, err := MountsIn(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that does not exist has no error")
	}
}
