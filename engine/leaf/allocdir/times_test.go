package allocdir

import (
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// The times of the output are beside the allocation, and stay as long as that.
func TestTimesOf(t *testing.T) {
	t.Parallel()
	allocDir := filepath.Join(leaktest.TempDir(t), "a")
	buildAlloc(t, allocDir, nil)
	times := TimesOf(allocDir)
	if below, err := filepath.Rel(allocDir, times); err != nil || filepath.IsLocal(below) {
		t.Errorf("%s is in the allocation", times)
	}
	if err := os.MkdirAll(filepath.Join(times, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := at(t, allocDir).RemoveSecrets(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(times); err != nil {
		t.Errorf("after the end of the run: %v", err)
	}
	if err := Remove(allocDir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(times); err == nil {
		t.Error("Remove left them there")
	}
}
