package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/scratch"
)

// Virtual runs write into memory where there is room, unless the user says where
// temporary files go; real runs never do. Nothing is left of either.
func TestPlacesOfJobTests(t *testing.T) {
	t.Parallel()
	hasMemory, temporary := false, filepath.Clean(os.TempDir())
	if dir := scratch.InMemory("taskrun-room-"); dir != "" {
		hasMemory = filepath.Dir(dir) != temporary
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range []string{"", os.TempDir()} {
		streams, _, _ := ui.Test()
		streams.Env = func(name string) string { return map[string]string{"TMPDIR": asked}[name] }
		dirs, remove, err := makeTestDirs(newApp(&console.Console{Streams: streams}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if inMemory := filepath.Dir(dirs.virtual) != temporary; inMemory != (hasMemory && asked == "") || filepath.Dir(dirs.real) != temporary {
			t.Errorf("with TMPDIR=%q: virtual runs in %s, real ones in %s", asked, dirs.virtual, dirs.real)
		}
		remove()
		for _, dir := range []string{dirs.virtual, dirs.real} {
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", dir, err)
			}
		}
	}
}
