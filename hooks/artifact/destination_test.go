package artifact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

// FuzzDestination delivers a file and a directory to any destination, in an
// allocation whose task has created links. Nothing may arrive outside of the
// task's directory and the shared one.
func FuzzDestination(f *testing.F) {
	for _, destination := range []string{
		"local", "/etc", "../other/local", "../../x", "out/x", "local/in/x", "${NOMAD_ALLOC_DIR}/data", "${NOMAD_ALLOC_DIR}/../other",
		"${NOMAD_SECRETS_DIR}/x", "local/../../other", "a\x00b", ".", "", "up/../x", strings.Repeat("d/", 300), "../alloc/out/x",
	} {
		f.Add(destination, "name", "any")
		f.Add(destination, "../name", "file")
	}
	f.Fuzz(func(t *testing.T, destination, name, mode string) {
		if mode != "any" && mode != "file" && mode != "dir" {
			mode = "any"
		}
		source := leaktest.TempDir(t)
		for _, name := range []string{"file", "tree/sub/file"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(source, name), []byte("delivered"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := newStage(t,
			to(from(source+"/file", "filename", name), mode, destination),
			to(from(source+"/tree"), "", destination))
		if err := s.dir.BuildTask("other", nil); err != nil {
			t.Fatal(err)
		}
		other := allocdir.TaskOf(s.alloc, "other")
		outside := leaktest.TempDir(t)
		for _, link := range [][2]string{
			{outside, s.dirs.Dir + "/out"}, {other.Local, s.dirs.Local + "/in"}, {"../..", s.dirs.Dir + "/up"}, {outside, s.alloc + "/alloc/out"},
		} {
			if err := os.Symlink(link[0], link[1]); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = s.get(t.Context()) // may succeed or fail
		for path, text := range tree(t, filepath.Dir(s.alloc)) {
			first, rest, _ := strings.Cut(path, "/")
			place, _, _ := strings.Cut(rest, "/")
			if text == "delivered" && (first != filepath.Base(s.alloc) || place != "t" && place != "alloc") {
				t.Errorf("delivered to %q", path)
			}
		}
		if got := tree(t, outside); len(got) > 0 {
			t.Errorf("delivered outside: %v", got)
		}
	})
}
