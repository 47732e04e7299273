package datadir

import (
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// The links of a job outlive its runs; those of its children do not.
func TestStickyLinkOfAChildGoesWithTheRun(t *testing.T) {
	t.Parallel()
	data := leaktest.TempDir(t)
	r := openRun(t, data, "job", "1")
	own, child := r.StickyLink("job", "g", 0), r.StickyLink("job/periodic-1", "g", 0)
	if filepath.Dir(filepath.Dir(child)) != filepath.Join(r.Dir, "sticky") {
		t.Errorf("the link of a child is %s", child)
	}
	if rel, err := filepath.Rel(r.Dir, own); err != nil || filepath.IsLocal(rel) {
		t.Errorf("the link of the job is in the run: %s", own)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if again := openRun(t, data, "job", "2").StickyLink("job", "g", 0); again != own {
		t.Errorf("the link of another run is %s, not %s", again, own)
	}
}
