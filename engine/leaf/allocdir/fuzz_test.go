package allocdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzTaskNames makes paths of names that a job file may contain: each must be a
// single step below the directory of the allocation.
func FuzzTaskNames(f *testing.F) {
	for _, name := range []string{
		"web", "", ".", "..", "../x", "a/b[0]", ".hidden", "%2E", "a%2Fb", "\x00", "ä\u202e\x1b[31m", "alloc", "-rf", "a\nb", strings.Repeat("x", 300),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkTask(name) == nil {
			if rel, err := filepath.Rel("/a", TaskOf("/a", name).Dir); err != nil || rel != name || strings.ContainsRune(rel, os.PathSeparator) {
				t.Errorf("task %q is at %q: %v", name, rel, err)
			}
		}
		if _, rest, err := At("/none").Place(name); err == nil {
			t.Errorf("%q was opened at %q", name, rest)
		}
	})
}
