package snapshot_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/jobtest/snapshot"
	"taskrun/cmd/jobtest/timeline"
)

func events(restart string) []timeline.Event {
	return []timeline.Event{
		{Target: "app[0]/server", Type: "Received", Message: "Task received by client"},
		{At: 20 * time.Second, Target: "app[0]/server", Type: "Terminated", Message: "Exit Code: 1"},
		{At: 20 * time.Second, Target: "app[0]/server", Type: "Restarting", Message: restart},
	}
}

func TestLifeOfASnapshot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.nomadtest.hcl")
	old, changed := snapshot.Text(1, events("Task restarting in 15s")), snapshot.Text(1, events("Task restarting in 5s"))

	if _, err := snapshot.Compare(file, "crash", old); !errors.Is(err, snapshot.ErrMissing) {
		t.Fatalf("before it is stored: %v", err)
	}
	for _, want := range []bool{true, false} {
		if got, err := snapshot.Update(file, "crash", old); err != nil || got != want {
			t.Fatalf("changed %v, %v, want %v", got, err, want)
		}
	}
	if diff, err := snapshot.Compare(file, "crash", old); diff != "" || err != nil {
		t.Errorf("equal ones differ: %s, %v", diff, err)
	}
	diff, err := snapshot.Compare(file, "crash", changed)
	if err != nil {
		t.Fatal(err)
	}
	want := `--- ` + snapshot.Path(file, "crash") + `
+++ this run
@@ -2,4 +2,4 @@
 # seed 1
 0s         app[0]/server    Received: Task received by client
 20s        app[0]/server    Terminated: Exit Code: 1
-20s        app[0]/server    Restarting: Task restarting in 15s
+20s        app[0]/server    Restarting: Task restarting in 5s
`
	if d := cmp.Diff(want, diff); d != "" {
		t.Error(d)
	}
	if got, err := snapshot.Update(file, "crash", changed); err != nil || !got {
		t.Fatalf("changed %v, %v", got, err)
	}
	if diff, err := snapshot.Compare(file, "crash", changed); diff != "" || err != nil {
		t.Errorf("after the update they differ: %s, %v", diff, err)
	}

	if got := snapshot.Stale(file, []string{"crash"}); got != nil {
		t.Errorf("stale: %v", got)
	}
	if got := snapshot.Stale(file, []string{"cras"}); len(got) != 1 || got[0] != snapshot.Path(file, "crash") {
		t.Errorf("stale: %v", got)
	}
}

// TestLineEndings: a checkout with CRLF holds the same snapshot.
func TestLineEndings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.nomadtest.hcl")
	text := snapshot.Text(1, events(""))
	if _, err := snapshot.Update(file, "s", text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(snapshot.Path(file, "s"), []byte(strings.ReplaceAll(string(text), "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff, err := snapshot.Compare(file, "s", text); diff != "" || err != nil {
		t.Errorf("they differ: %s, %v", diff, err)
	}
}

// A snapshot that is no file is an error, and neither missing nor replaced.
func TestSnapshotThatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "web.nomadtest.hcl")
	path := snapshot.Path(file, "crash")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Compare(file, "crash", nil); err == nil || err.Error() != fmt.Sprintf("cannot read %q: is a directory", path) {
		t.Errorf("it is compared: %v", err)
	}
	if changed, err := snapshot.Update(file, "crash", nil); changed || err == nil || err.Error() != fmt.Sprintf("cannot write %q: is a directory", path) {
		t.Errorf("it is written: %t, %v", changed, err)
	}
	other := filepath.Join(dir, "api.nomadtest.hcl")
	if err := os.WriteFile(filepath.Dir(snapshot.Path(other, "x")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := snapshot.Update(other, "x", nil); changed || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file is in place of the folder: %t, %v", changed, err)
	}
}
