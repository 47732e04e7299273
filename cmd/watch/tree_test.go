package watch

import (
	"path/filepath"
	"testing"
)

// Of a tree, only the directories are watched in which there may be files of it.
func TestDirectoriesOfATree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		pattern string
		want    map[string]bool
	}{
		{"src/*.go", map[string]bool{"src": true, "src/a": false, "other": false}},
		{"src/*/*.go", map[string]bool{"src": true, "src/a": true, "src/a/b": false, "src/.a": false}},
		{"src/**/*.go", map[string]bool{"src/a/b/c": true, "src/.a": false, "src/skipped": false, "src/own": false}},
		{"src/.a/*", map[string]bool{"src/.a": true}},
	} {
		trees := NewTrees(dir, []string{tt.pattern}, []string{"src/skipped"}, filepath.Join(dir, "src/own"))
		for name, want := range tt.want {
			if got := trees[0].enters(filepath.Join(dir, name)); len(trees) != 1 || got != want {
				t.Errorf("%s: enters %s: %v", tt.pattern, name, got)
			}
		}
	}
}
