package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"taskrun/engine/leaf/leaktest"
)

// roleKey makes the test binary a process that holds a lock until its stdin
// ends.
const roleKey = "DATADIR_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleKey); dir != "" {
		if _, err := OpenRun(dir, "web", "1"); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // without Close, like a killed process
	}
	syscall.Umask(0o022) // some tests compare modes
	os.Exit(m.Run())
}

func openRun(t testing.TB, dataDir, jobID, runID string) *Run {
	t.Helper()
	r, err := OpenRun(dataDir, jobID, runID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestOpenRunMakesPrivateDirectories(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "a", "data")
	r := openRun(t, dataDir, "web", "1")
	if want := filepath.Join(dataDir, "jobs", "web", "runs", "1"); r.Dir != want || r.Dir != RunDir(dataDir, "web", "1") {
		t.Errorf("run in %q, want %q", r.Dir, want)
	}
	if got, want := r.AllocDir("x"), filepath.Join(r.Dir, "alloc", "x"); got != want {
		t.Errorf("allocation in %q, want %q", got, want)
	}
	want := fs.ModeDir | 0o700
	if os.Geteuid() == 0 {
		want = fs.ModeDir | 0o711
	}
	for dir := filepath.Dir(r.AllocDir("x")); dir != filepath.Dir(dataDir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s: mode %v, want %v", dir, info.Mode(), want)
		}
	}
}

func TestOpenRunLeavesWhatExists(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	if err := os.Chmod(dataDir, 0o750); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := openRun(t, dataDir, "web", "1").Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dataDir); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestOneRunOfAJobAtATime(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	first := openRun(t, dataDir, "web", "1")
	_, err := OpenRun(dataDir, "web", "2")
	var inUse *InUseError
	if !errors.Is(err, ErrInUse) || !errors.As(err, &inUse) || inUse.PID != os.Getpid() || inUse.JobID != "web" {
		t.Errorf("second run: %v", err)
	}
	openRun(t, dataDir, "web2", "1")
	openRun(t, leaktest.TempDir(t), "web", "1")
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	openRun(t, dataDir, "web", "2")
}

func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleKey+"="+dataDir, "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said string
	if _, err := fmt.Fscanln(stdout, &said); err != nil || said != "held" {
		t.Fatalf("%q, %v", said, err)
	}
	var inUse *InUseError
	if _, err := OpenRun(dataDir, "web", "2"); !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid {
		t.Errorf("while it lives: %v, want process %d", err, cmd.Process.Pid)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	openRun(t, dataDir, "web", "2")
}

func TestOpenRunFailsClearly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(leaktest.TempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := leaktest.TempDir(t)
	if err := os.Chmod(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dataDir, job, run, want string
		asUser                  bool // root is allowed to do it
	}{
		"file as data directory": {file, "web", "1", `cannot make directory ".*/jobs/web": .*not a directory`, false},
		"below a file":           {filepath.Join(file, "x"), "web", "1", `cannot make directory ".*": .*not a directory`, false},
		"read-only":              {readOnly, "web", "1", `cannot make directory ".*/jobs/web": .*permission denied`, true},
		"no job":                 {leaktest.TempDir(t), "", "1", `without ID`, false},
		"no run":                 {leaktest.TempDir(t), "web", "", `cannot open run "" of job "web"`, false},
		"run is a path":          {leaktest.TempDir(t), "web", "../x", `cannot open run "../x"`, false},
		"run is hidden":          {leaktest.TempDir(t), "web", ".x", `cannot open run ".x"`, false},
		"job ID is too long":     {leaktest.TempDir(t), fmt.Sprintf("%0300d", 1), "1", `cannot make directory .*file name too long`, false},
	} {
		if tt.asUser && os.Geteuid() == 0 {
			continue
		}
		r, err := OpenRun(tt.dataDir, tt.job, tt.run)
		if err == nil {
			r.Close()
		}
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestFailedOpenReleasesTheLock(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	jobDir := filepath.Join(dataDir, "jobs", "web")
	if err := os.MkdirAll(jobDir, 0o700); err != nil {
		t.Fatal(err)
	}
	runs := filepath.Join(jobDir, "runs")
	if err := os.WriteFile(runs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRun(dataDir, "web", "1"); err == nil {
		t.Fatal("no error with a file in the way")
	}
	if err := os.Remove(runs); err != nil {
		t.Fatal(err)
	}
	openRun(t, dataDir, "web", "1")
}

func TestRunIDsSortByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 23, 59, 59, 998e6, time.FixedZone("", 3600))
	var ids []string
	for range 50 {
		ids = append(ids, NewRunID(at, rand.Reader))
		at = at.Add(time.Millisecond)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("not sorted: %q", ids)
	}
	if !regexp.MustCompile(`^20240229T225959\.998Z-[0-9a-f]{4}$`).MatchString(ids[0]) {
		t.Errorf("%q", ids[0])
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		runs []string
		this string
		keep int
		want []string
	}{
		"fewer":              {[]string{"1", "2"}, "3", 5, []string{"1", "2", "3"}},
		"as many":            {[]string{"1", "2"}, "3", 3, []string{"1", "2", "3"}},
		"more":               {[]string{"1", "2", "3", "4"}, "5", 3, []string{"3", "4", "5"}},
		"this one only":      {[]string{"1", "2"}, "3", 1, []string{"3"}},
		"none":               {[]string{"1", "2"}, "3", 0, []string{"3"}},
		"negative":           {[]string{"1", "2"}, "3", -2, []string{"3"}},
		"this is the oldest": {[]string{"2", "3"}, "1", 2, []string{"1", "3"}},
		"what was left":      {[]string{".removing-0", "1"}, "2", 2, []string{"1", "2"}},
		"what is not ours":   {[]string{".other", "1"}, "2", 1, []string{".other", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openRun(t, leaktest.TempDir(t), "web", tt.this)
			runs := filepath.Dir(r.Dir)
			for _, id := range tt.runs {
				readOnly := filepath.Join(runs, id, "alloc", "x", "task", "local", "sub")
				if err := os.MkdirAll(readOnly, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(readOnly, "file"), nil, 0o400); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(os.Chmod(readOnly, 0o500), os.Chmod(filepath.Dir(readOnly), 0)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(filepath.Dir(readOnly), 0o700); _ = os.Chmod(readOnly, 0o700) })
			}
			if err := r.Prune(tt.keep); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(runs)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("left %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPruneFollowsNoLink(t *testing.T) {
	t.Parallel()
	outside := leaktest.TempDir(t)
	if err := os.WriteFile(filepath.Join(outside, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := openRun(t, leaktest.TempDir(t), "web", "2")
	runs := filepath.Dir(r.Dir)
	if err := os.Mkdir(filepath.Join(runs, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{filepath.Join(runs, "1", "link"), filepath.Join(runs, "0")} {
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Prune(1); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(runs, "1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("run 1 is left: %v", err)
	}
}

func TestPruneNeedsTheLock(t *testing.T) {
	t.Parallel()
	r := openRun(t, leaktest.TempDir(t), "web", "1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Prune(1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// The ID of a run says when it began, to the millisecond.
func TestRunTime(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	for id, want := range map[string]time.Time{
		NewRunID(began.In(time.FixedZone("", 3600)), rand.Reader): began,
		"20260203T040506.007Z": began, "20260203T040506.007Z-x-y": began,
		"": {}, "1": {}, "20260203T040506Z-00": {},
	} {
		if at, ok := RunTime(id); !at.Equal(want) || ok == want.IsZero() {
			t.Errorf("%q began at %v, %t", id, at, ok)
		}
	}
}
