package datadir

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/safedir"
)

// FuzzNames makes paths of names that a job file may contain: each must be a
// single step below its directory, and no two jobs or volumes may share one.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"web", "", ".", "..", "../x", "a/b[0]", ".hidden", "%2E", "%2e%2e", "a%2Fb", "\x00", "ä\u202e\x1b[31m", "alloc", "-rf", "a\nb", strings.Repeat("x", 300),
	} {
		f.Add(name, "web")
		f.Add("web", name)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		const data = "/data"
		for _, name := range []string{a, b} {
			if name == "" { // neither jobs nor volumes can have it
				return
			}
			step := escape(name)
			if !safedir.IsName(step) || isHidden(step) {
				t.Errorf("%q becomes %q", name, step)
			}
			if again, err := url.PathUnescape(step); err != nil || again != name {
				t.Errorf("%q becomes %q, and that %q: %v", name, step, again, err)
			}
			for path, parent := range map[string]string{
				jobDir(data, name):                  filepath.Join(data, "jobs"),
				filepath.Dir(VolumeDir(data, name)): filepath.Join(data, "host_volumes"),
			} {
				if filepath.Dir(path) != parent {
					t.Errorf("%q is at %q", name, path)
				}
			}
			if rel, err := filepath.Rel(data, HostPathDir(data, name)); err != nil || rel != "host" && !strings.HasPrefix(rel, "host/") {
				t.Errorf("the path %q is at %q: %v", name, rel, err)
			}
		}
		if a != b && (jobDir(data, a) == jobDir(data, b) || VolumeDir(data, a) == VolumeDir(data, b)) {
			t.Errorf("%q and %q share a directory", a, b)
		}
	})
}
