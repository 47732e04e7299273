package tasklog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/event"
)

// TestFullDiskLosesNothingButTheFile runs in a process of its own: the limit
// on the size of files is for the whole process.
func TestFullDiskLosesNothingButTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := command("fulldisk", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const want = `announce stdout 800 false
announce stdout 200 false
report cannot write stdout of task "web": write web.stdout.0: file too large
announce stdout 600 true
announce stdout 800 true
announce stdout 800 false
report 1400 bytes of stdout of task "web" were not written: write web.stdout.0: file too large
announce stdout 800 false
`
	if got := strings.ReplaceAll(string(out), dir+"/", ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// The line that was cut is ended.
	if got := allOnDisk(t, dir, event.Stdout); len(got) != 2601 {
		t.Errorf("%d bytes on disk, want 2601", len(got))
	}
}

func TestLossIsReportedOnceAndAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "web.stdout.1"), 0o700); err != nil {
		t.Fatal(err)
	}
	var r recorder
	l := r.open(t, Config{Dir: dir, MaxFiles: 2, MaxFileSize: 4})
	stdout, stderr := writers(t, l)
	for range 5 {
		write(t, stdout, "abc\n")
	}
	write(t, stderr, "abc\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(r.reports) != 2 {
		t.Fatalf("reports: %v", r.reports)
	}
	for i, want := range []int64{0, 16} {
		var loss *LossError
		if !errors.As(r.reports[i], &loss) || loss.Bytes != want || loss.Stream != event.Stdout || loss.Task != "web" {
			t.Errorf("report %d: %#v, want %d bytes", i, r.reports[i], want)
		}
	}
	if got := r.text(event.Stdout); got != strings.Repeat("abc\n", 5) {
		t.Errorf("announced %q", got)
	}
}
