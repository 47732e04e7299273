package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/leaktest"
)

// A summary that was written is read again; half a summary is never read.
func TestSummary(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if s, err := Read(dir); s != nil || err != nil {
		t.Errorf("of a run that goes on: %+v, %v", s, err)
	}
	want := &view.Summary{Job: "web", Status: "failed", ExitCode: 3, DurationMS: 1500, Cause: "the timeout of 1s has passed"}
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v", files, err)
	}
	path := filepath.Join(dir, source.SummaryFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte(`{"job":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(dir); s != nil || err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("of a broken record: %+v, %v", s, err)
	}
	if err := Write(filepath.Join(dir, "none"), want); !os.IsNotExist(err) {
		t.Errorf("where there is no directory: %v", err)
	}
}

// Of runs of several jobs the one that began last comes first.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	var dirs []string
	for _, r := range NewestFirst([]*Run{{Dir: "/b", ID: "20260102T"}, {Dir: "/a", ID: "20260103T"}, {Dir: "/c", ID: "20260101T"}}) {
		dirs = append(dirs, r.Dir)
	}
	if got := strings.Join(dirs, " "); got != "/a /b /c" {
		t.Error(got)
	}
}

func TestEndOfARun(t *testing.T) {
	t.Parallel()
	killed := &Run{Job: "web"}
	if got := killed.String(); killed.Status() != "lost" || got != "job web is not running: its last run was killed" {
		t.Errorf("%s: %s", killed.Status(), got)
	}
	s := &view.Summary{Status: "stopped", ExitCode: 130, DurationMS: 1500, Cause: "stopped by the user"}
	s.Time = time.Now().Add(-time.Hour)
	ended := &Run{Job: "web", Summary: s}
	before, _, _ := strings.Cut(ended.String(), " 1h0m")
	_, after, _ := strings.Cut(ended.String(), " ago ")
	if ended.Status() != "stopped" || before != "job web is not running: stopped" || after != "after 1.5s, exit code 130; stopped by the user" {
		t.Errorf("%s: %s", ended.Status(), ended)
	}
}
