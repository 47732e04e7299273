package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/runtimedir"
)

// A resident engine finds the runs that it has marked, and removes what is left of
// those whose removal was interrupted.
func TestResidentRuns(t *testing.T) {
	t.Parallel()
	data, state := leaktest.TempDir(t), leaktest.TempDir(t)
	if dirs, err := ResidentRuns(data, state); len(dirs) > 0 || err != nil {
		t.Errorf("before the first run: %q, %v", dirs, err)
	}
	var want []string
	for _, job := range []string{"api", "web"} {
		r, err := OpenResident(data, job, "1", state)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Dir)
	}
	if _, err := OpenResident(data, "other", "1", leaktest.TempDir(t)); err != nil { // another engine's
		t.Fatal(err)
	}
	openRun(t, data, "alone", "1") // no resident engine's
	runs := filepath.Dir(want[0])
	left, hidden := filepath.Join(runs, removing+"0"), filepath.Join(runs, ".0")
	for _, dir := range []string{left, hidden} {
		if err := errors.Join(os.Mkdir(dir, 0o700), mark(dir, state)); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := ResidentRuns(data, state)
	if slices.Sort(dirs); !slices.Equal(dirs, want) || err != nil {
		t.Errorf("found %q, %v; want %q", dirs, err, want)
	}
	if _, err := os.Lstat(left); err == nil {
		t.Error("what was left of a run is still there")
	}
	if _, err := os.Lstat(hidden); err != nil {
		t.Error("what is no run is gone")
	}
	if err := Disown(want[0]); err != nil {
		t.Fatal(err)
	}
	if dirs, err := ResidentRuns(data, state); !slices.Equal(dirs, want[1:]) || err != nil {
		t.Errorf("after the end of one run: %q, %v", dirs, err)
	}
}

// While a resident engine lives, it alone runs the jobs of its runs, again and again.
func TestJobsOfALiveResident(t *testing.T) {
	t.Parallel()
	data, state := leaktest.TempDir(t), leaktest.TempDir(t)
	lock, err := os.Create(filepath.Join(state, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := runtimedir.Flock(lock, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"1", "2"} {
		if _, err := OpenResident(data, "web", run, state); err != nil {
			t.Errorf("run %s of the same engine: %v", run, err)
		}
	}
	var inUse *InUseError
	if _, err := OpenResident(data, "web", "3", leaktest.TempDir(t)); !errors.As(err, &inUse) || inUse.JobID != "web" {
		t.Errorf("a run of another engine: %v", err)
	}
}

// A run of a resident engine is opened again by that engine alone.
func TestReopenResident(t *testing.T) {
	t.Parallel()
	data, state := leaktest.TempDir(t), leaktest.TempDir(t)
	r, err := OpenResident(data, "web", "1", state)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReopenResident(r.Dir, state)
	if err != nil || again.Dir != r.Dir {
		t.Errorf("it is %+v, %v", again, err)
	}
	if lock, err := again.ShareLock(); lock != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("a resident engine has the lock of a run: %v, %v", lock, err)
	}
	if r, err := ReopenResident(filepath.Join(data, "none"), state); r != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no run: %v, %v", r, err)
	}
}
