package watch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file is where all links on the way to it lead; each may be changed.
func TestAround(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, dir := range []string{"real/deep", "current"} {
		s.must(os.MkdirAll(s.path(dir), 0o700))
	}
	s.write("real/deep/file", "")
	for from, to := range map[string]string{
		"absolute": s.path("real"), "current/relative": "../real/deep", "current/both": "../absolute/deep/file", "loop": "loop", "dangling": "none/file",
	} {
		s.must(os.Symlink(to, s.path(from)))
	}
	for path, want := range map[string][]string{
		"real/deep/file":        {"real/deep"},
		"real/deep":             {"real", "real/deep"},
		"absolute/deep/file":    {".", "real/deep"},
		"current/relative/file": {"current", "real/deep"},
		"current/both":          {"current", ".", "real/deep"},
		"real/none/file":        {"real"},
		"dangling":              {".", "."},
	} {
		for i := range want {
			want[i] = filepath.Clean(s.path(want[i]))
		}
		if got := around(s.path(path)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := around(s.path("loop")); len(got) != maxLinks+1 || got[0] != s.dir {
		t.Errorf("a loop: %d directories", len(got))
	}
}
