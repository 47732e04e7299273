package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir"
)

// The error names the current holder of the lock, even one that has inherited
// it, and none if the PID cannot be read.
func TestHolderOfTheLock(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	first := openRun(t, dataDir, "web", "1")
	file := filepath.Join(dataDir, "jobs/web/lock")
	holder := func() int {
		t.Helper()
		_, err := OpenRun(dataDir, "web", "2")
		inUse, ok := errors.AsType[*InUseError](err)
		if !ok || !errors.Is(err, ErrInUse) {
			t.Fatalf("error %v", err)
		}
		return inUse.PID
	}
	if pid := holder(); pid != os.Getpid() {
		t.Errorf("it is held by %d", pid)
	}
	lock, err := first.ShareLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Leave(); err != nil {
		t.Fatal(err)
	}
	// The PID of the keeper that had it meanwhile, longer than ours.
	if err := os.WriteFile(file, []byte(strings.Repeat("9", 20)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid := holder(); pid != 0 {
		t.Errorf("it is held by %d", pid)
	}
	second, err := ReopenRun(first.Dir, lock)
	if err != nil {
		t.Fatal(err)
	}
	if pid := holder(); pid != os.Getpid() {
		t.Errorf("after it was inherited it is held by %d", pid)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("the lock of nobody holds %q, %v", text, err)
	}
	openRun(t, dataDir, "web", "2")
}

// The message names the holder of a lock, if known.
func TestWordsOfTheLock(t *testing.T) {
	t.Parallel()
	for pid, want := range map[int]string{0: `job "web@prod" is running`, 7: `job "web@prod" is running: process 7`} {
		if got := (&InUseError{"web prod", pid}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A run that cannot be removed is an error, and the others are removed.
func TestRemoveMissingRun(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	r, err := safedir.OpenRemover(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := removeRun(r, "gone"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `/gone": `) {
		t.Errorf("error %v", err)
	}
	// A file with the temporary name of the run is an obstacle.
	if err := os.MkdirAll(filepath.Join(dir, "1/alloc/x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, removing+"1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeRun(r, "1"); err == nil {
		t.Error("a run was removed under a name that is taken")
	}
	if _, err := os.Stat(filepath.Join(dir, "1/alloc/x")); err != nil {
		t.Errorf("a part of the run has gone: %v", err)
	}
}

// Prune keeps this run and the given number of others, the newest ones, and
// removes the remains of an earlier call; it ignores files and hidden names.
func TestPruneKeeps(t *testing.T) {
	t.Parallel()
	for keep, want := range map[int]string{-1: "3", 0: "3", 1: "3", 2: "3 5", 3: "3 4 5", 9: "1 2 3 4 5"} {
		dataDir := leaktest.TempDir(t)
		r := openRun(t, dataDir, "web", "3")
		runs := filepath.Dir(r.Dir)
		for _, name := range []string{"1", "2", "4", "5", removing + "0", ".hidden"} {
			if err := os.MkdirAll(filepath.Join(runs, name, "alloc/x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(runs, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.Prune(keep); err != nil {
			t.Errorf("keep %d: %v", keep, err)
		}
		entries, err := os.ReadDir(runs)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(left, " "); got != ".hidden "+want+" file" {
			t.Errorf("keep %d: left are %s, want .hidden %s file", keep, got, want)
		}
	}
}
