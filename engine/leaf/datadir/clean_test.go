package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir"
	"taskrun/engine/leaf/safedir/dirtest"
)

// A run whose program was killed loses its secrets, its pipes, the state for a
// later engine, and the PID of the program in the lock; but not the files of
// tasks, or the PID of another program.
func TestAbandon(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	run := RunDir(dataDir, "a/b", "1")
	lock := filepath.Join(jobDir(dataDir, "a/b"), "lock")
	if got := JobOf(run); got != "a/b" {
		t.Errorf("it is a run of %q", got)
	}
	for _, tt := range []struct {
		pid  int
		lock string
		want string
	}{{77, "77\n", ""}, {77, "78\n", "78\n"}, {77, "", ""}} {
		dirtest.Fill(t, run, "alloc/x/t/secrets/token", "alloc/x/t/local/kept", "alloc/x/alloc/logs/t.stdout.0", "alloc/x/alloc/logs/.t.fifo|",
			"alloc/y/", "recovery/journal", "events.json")
		if err := os.WriteFile(lock, []byte(tt.lock), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Abandon(run, tt.pid); err != nil {
			t.Fatal(err)
		}
		want := []string{"alloc/x/alloc/logs/t.stdout.0", "alloc/x/t/local/kept", "events.json"}
		if got := dirtest.Files(t, run); !slices.Equal(got, want) {
			t.Errorf("left are %q, want %q", got, want)
		}
		if text, err := os.ReadFile(lock); string(text) != tt.want || err != nil {
			t.Errorf("the lock with %q has %q, %v", tt.lock, text, err)
		}
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := Abandon(run, 77); err != nil {
		t.Errorf("without a lock: %v", err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for keep, want := range [][]string{
		{"lock"},
		{"lock", "ports", "runs/3/alloc/x/t/local/f", "sticky/g"},
		{"lock", "ports", "runs/2/alloc/x/t/local/f", "runs/3/alloc/x/t/local/f", "sticky/g"},
		3: {"lock", "ports", "runs/1/alloc/x/t/local/f", "runs/2/alloc/x/t/local/f", "runs/3/alloc/x/t/local/f", "sticky/g"},
		4: {"lock", "ports", "runs/1/alloc/x/t/local/f", "runs/2/alloc/x/t/local/f", "runs/3/alloc/x/t/local/f", "sticky/g"},
	} {
		t.Run(strconv.Itoa(keep), func(t *testing.T) {
			t.Parallel()
			dataDir := leaktest.TempDir(t)
			dir := jobDir(dataDir, "web")
			dirtest.Fill(t, dir, "ports", "sticky/g")
			for _, id := range []string{"1", "2", "3"} {
				dirtest.Fill(t, RunDir(dataDir, "web", id), "alloc/x/t/secrets/token", "alloc/x/t/local/f", "recovery/journal")
			}
			all := dirtest.Files(t, dir)
			broken := errors.New("broken")
			if err := Clean(dataDir, "web", keep, func() error { return broken }); !errors.Is(err, broken) {
				t.Errorf("when something else stays: %v", err)
			}
			if got := slices.DeleteFunc(dirtest.Files(t, dir), func(name string) bool { return name == "lock" }); !slices.Equal(got, all) {
				t.Errorf("left are %q then, want %q", got, all)
			}
			r := openRun(t, dataDir, "web", "4")
			if err := Clean(dataDir, "web", keep, func() error { t.Error("something else was removed"); return nil }); !errors.Is(err, ErrInUse) {
				t.Errorf("of a job that runs: %v", err)
			}
			if err := errors.Join(r.Close(), os.RemoveAll(r.Dir)); err != nil {
				t.Fatal(err)
			}
			called := false
			if err := Clean(dataDir, "web", keep, func() error { called = true; return nil }); err != nil || !called {
				t.Errorf("%v, called %v", err, called)
			}
			if got := dirtest.Files(t, dir); !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
			openRun(t, dataDir, "web", "5") // the lock is free
		})
	}
}

func TestCleanVolumes(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "none")
	if err := CleanVolumes(dataDir); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	dirtest.Fill(t, dataDir, "host_volumes/a/f", "volumes/b/f", "jobs/web/f")
	if err := CleanVolumes(dataDir); err != nil {
		t.Fatal(err)
	}
	if got := dirtest.Files(t, dataDir); !slices.Equal(got, []string{"jobs/web/f"}) {
		t.Errorf("left are %q", got)
	}
	dirtest.Fill(t, filepath.Dir(dataDir), "file")
	if err := CleanVolumes(filepath.Join(filepath.Dir(dataDir), "file")); err == nil {
		t.Error("a file was cleaned")
	}
}

// A file with two names counts once, and a missing one counts nothing.
func TestUsed(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	empty := Used(dir)
	if err := os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	once := Used(dir)
	if once < empty+1<<20 || once > empty+2<<20 {
		t.Errorf("a file of 1 MiB takes %d bytes", once-empty)
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if again := Used(dir); again != once {
		t.Errorf("a second name takes %d bytes", again-once)
	}
	if n := Used(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("nothing takes %d bytes", n)
	}
}

func TestNewLog(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "data")
	f, err := NewLog(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 || filepath.Dir(f.Name()) != dataDir {
		t.Errorf("%s: %v, %v", f.Name(), info, err)
	}
	if jobs, err := Jobs(dataDir); err != nil || len(jobs) > 0 {
		t.Errorf("the log is one of the jobs %q, %v", jobs, err)
	}
	if _, err := NewLog(f.Name()); err == nil {
		t.Error("a file is a data directory")
	}
}

// A directory without permissions is made accessible before its removal; the
// remains of an earlier removal are removed, too. A run that cannot be renamed
// is reported.
func TestPruneOfClosedDirectories(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	r := openRun(t, dataDir, "web", "3")
	dirtest.Fill(t, RunDir(dataDir, "web", "1"), "alloc/x/t/local/closed/f")
	dirtest.Fill(t, runsDir(r.jobDir), ".removing-1/f/f", ".hidden/f")
	if err := os.Chmod(filepath.Join(RunDir(dataDir, "web", "1"), "alloc/x/t/local/closed"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := r.Prune(1); err != nil {
		t.Error(err)
	}
	if got := dirtest.Files(t, runsDir(r.jobDir)); !slices.Equal(got, []string{".hidden/f"}) {
		t.Errorf("left are %q", got)
	}
	remover, err := safedir.OpenRemover(runsDir(r.jobDir))
	if err != nil {
		t.Fatal(err)
	}
	defer remover.Close()
	if err := removeRun(remover, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that there is not: %v", err)
	}
}

// One run is removed, whatever its age; the newest one only if the job does not run.
func TestCleanRun(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	for _, id := range []string{"1", "2", "3"} {
		dirtest.Fill(t, RunDir(dataDir, "web", id), "events.json")
	}
	fails := errors.New("no")
	if err := CleanRun(dataDir, "web", "2", func() error { return fails }); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
	first := func() error { return nil }
	live, err := OpenRun(dataDir, "web", "3")
	if err != nil {
		t.Fatal(err)
	}
	if err := CleanRun(dataDir, "web", "3", first); !errors.Is(err, ErrInUse) {
		t.Errorf("the live run: %v", err)
	}
	if err := CleanRun(dataDir, "web", "1", first); err != nil {
		t.Errorf("an older run: %v", err)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	if err := CleanRun(dataDir, "web", "3", first); err != nil {
		t.Error(err)
	}
	if err := CleanRun(dataDir, "web", "../../web/runs/2", first); err == nil {
		t.Error("a path was removed")
	}
	if ids, err := Runs(dataDir, "web"); err != nil || len(ids) != 1 || ids[0] != "2" {
		t.Errorf("left: %v, %v", ids, err)
	}
}
