package textfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// TestWriteKeepsTheOwner lets root edit a file of another user. That user can still
// write to it afterwards.
func TestWriteKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
	const uid, gid = 12345, 12346
	name := filepath.Join(leaktest.TempDir(t), "a.hcl")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, uid, gid); err != nil {
		t.Skipf("this machine gives no file away: %v", err)
	}
	if err := Write(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid {
		t.Errorf("the file belongs to %d:%d now", owner.Uid, owner.Gid)
	}
}
