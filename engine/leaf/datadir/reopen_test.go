package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// inherited returns the lock of a run in the form in which another process
// inherits it.
func inherited(t *testing.T, r *Run) *os.File {
	t.Helper()
	f, err := r.ShareLock()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReopenRun(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	first := openRun(t, dataDir, "web/1", "1")
	if _, err := ReopenRun(first.Dir, nil); !errors.Is(err, ErrInUse) {
		t.Errorf("without the lock: %v", err)
	}
	other := openRun(t, dataDir, "other", "1")
	if wrong := inherited(t, other); true {
		if _, err := ReopenRun(first.Dir, wrong); err == nil {
			t.Error("took the lock of another job")
		}
		wrong.Close()
	}
	kept := inherited(t, first) // by a keeper
	lock := inherited(t, first) // by the next engine
	if err := first.Leave(); err != nil {
		t.Fatal(err)
	}
	second, err := ReopenRun(first.Dir, lock)
	if err != nil {
		t.Fatal(err)
	}
	if second.AllocDir("a") != first.AllocDir("a") {
		t.Errorf("%q is reopened as %q", first.Dir, second.Dir)
	}
	if err := second.Leave(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRun(dataDir, "web/1", "2"); !errors.Is(err, ErrInUse) {
		t.Errorf("while the keeper holds the lock: %v", err)
	}
	kept.Close()
	third, err := ReopenRun(first.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{filepath.Join(dataDir, "none"), dataDir} {
		if _, err := ReopenRun(dir, nil); err == nil {
			t.Errorf("reopened %q", dir)
		}
	}
}
