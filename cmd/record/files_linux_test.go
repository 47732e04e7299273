package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An export leaves no file of the run open.
func TestExportClosesFiles(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "one\n")
	if err := os.WriteFile(filepath.Join(kept.Dir, EnvironmentFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	export(t, Export{Output: true, Environment: true}, kept)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(path, kept.Dir) {
			t.Errorf("%s is open", path)
		}
	}
}
