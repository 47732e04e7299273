package tasklog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// TestFullDiskLosesNothingButTheFile runs in a process of its own: the limit
// on the size of files is for the whole process.
func TestFullDiskLosesNothingButTheFile(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
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
	dir := filepath.Join(leaktest.TempDir(t), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var r recorder
	l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 2, MaxFileSize: 4})
	stdout, stderr := writers(t, l)
	for i := range 5 {
		write(t, stdout, "abc\n")
		write(t, stderr, "abc\n"[i:min(i+1, 4)]) // one file in all
		if i == 0 {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
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

// TestCutLineIsEndedByTheNextLog opens a log behind one that has lost output, as
// after a kill: the line that was cut is not joined with the next one, and a line
// that was not is continued.
func TestCutLineIsEndedByTheNextLog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before string
		lost   bool
		want   string
	}{
		"cut":                {"23939", true, "23939\nback\n"},
		"lost between lines": {"23939\n", true, "23939\nback\n"},
		"under way":          {"23939", false, "23939back\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := leaktest.TempDir(t)
			var killed, next recorder
			l := killed.open(t, Config{Dir: at(t, dir), MaxFiles: 2, MaxFileSize: 1 << 20})
			stdout, _ := writers(t, l)
			write(t, stdout, tt.before)
			if tt.lost { // as on a full disk: the file cannot be written
				full, err := os.Open(filepath.Join(dir, "web.stdout.0"))
				if err != nil {
					t.Fatal(err)
				}
				defer full.Close()
				current := l.streams[event.Stdout].files.current
				whole := current.file
				current.file = full
				write(t, stdout, "40\n")
				current.file = whole
			}
			l = next.open(t, Config{Dir: at(t, dir), MaxFiles: 2, MaxFileSize: 1 << 20})
			stdout, _ = writers(t, l)
			write(t, stdout, "back\n")
			if got := allOnDisk(t, dir, event.Stdout); got != tt.want {
				t.Errorf("on disk %q, want %q", got, tt.want)
			}
			if info, err := os.Stat(filepath.Join(dir, "web.stdout.0")); err != nil || info.Mode()&cutMark != 0 {
				t.Errorf("the mark is left: %v, %v", info, err)
			}
		})
	}
}
