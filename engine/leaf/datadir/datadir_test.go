package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

func TestDefault(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		euid int
		want string
	}{
		"XDG":                {map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, 7, "/s/taskrun"},
		"XDG for root":       {map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/root"}, 0, "/s/taskrun"},
		"relative XDG":       {map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, 7, "/h/.local/state/taskrun"},
		"home":               {map[string]string{"HOME": "/h"}, 7, "/h/.local/state/taskrun"},
		"root":               {map[string]string{"HOME": "/root"}, 0, "/var/lib/taskrun"},
		"no home":            {nil, 7, "/tmp/taskrun-7"},
		"no home but TMPDIR": {map[string]string{"TMPDIR": "/t"}, 7, "/t/taskrun-7"},
		"relative home":      {map[string]string{"HOME": "h", "TMPDIR": "t"}, 7, "/tmp/taskrun-7"},
	} {
		if got := Default(func(key string) string { return tt.env[key] }, tt.euid); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestJobIDsAreNamesOfDirectories(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	ids := []string{
		"web", "Web-2", "a/b", "a%2Fb", "..", ".", ".hidden", "%2E", "a b", "ä", "web/dispatch-1-abc",
		"../../../x", "~", "-rf", "a\nb", "a\x00b",
	}
	for _, id := range ids {
		r := openRun(t, dataDir, id, "1")
		if filepath.Dir(filepath.Dir(filepath.Dir(r.Dir))) != filepath.Join(dataDir, "jobs") {
			t.Errorf("job %q is in %q", id, r.Dir)
		}
		if runs, err := Runs(dataDir, id); err != nil || !slices.Equal(runs, []string{"1"}) {
			t.Errorf("runs of job %q: %q, %v", id, runs, err)
		}
	}
	got, err := Jobs(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("jobs %q, want %q", got, ids)
	}
}

func TestNothingHasRun(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "none")
	if jobs, err := Jobs(dataDir); err != nil || len(jobs) > 0 {
		t.Errorf("jobs %q, %v", jobs, err)
	}
	if runs, err := Runs(dataDir, "web"); err != nil || len(runs) > 0 {
		t.Errorf("runs %q, %v", runs, err)
	}
}

// A directory that others can replace is refused, with a command that helps.
func TestOpenDataDirectory(t *testing.T) {
	t.Parallel()
	shared := dirtest.Open(t)
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	dataDir := filepath.Join(shared, "data")
	r, err := OpenRun(dataDir, "web", "1")
	if err == nil {
		r.Close()
	}
	want := fmt.Sprintf("cannot keep runs in %q: %q can be changed by every user: choose another --data-dir, or run `chmod o-w %s`", dataDir, shared, shared)
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestDataDirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	shared := dirtest.Open(t)
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	dataDir := filepath.Join(shared, "taskrun-1234")
	if err := os.Mkdir(dataDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dataDir, 4321, 4321); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRun(dataDir, "web", "1")
	if err == nil {
		r.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "another user (uid 4321), who could replace it: choose another --data-dir") {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	openRun(t, dataDir, "web", "1")
}

func TestJobOf(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{RunDir("/data", "a/b c", "1"): "a/b c", "/data/jobs/web/runs/1": "web", "/data/jobs/%zz/runs/1": "%zz"} {
		if got := JobOf(dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
