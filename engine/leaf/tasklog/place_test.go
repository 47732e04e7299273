package tasklog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 10, MaxFileSize: 4})
	empty := leaktest.TempDir(t)
	before, err := OpenReader(empty, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if file, offset := before.Position(); file != "" || offset != 0 {
		t.Errorf("no file: %q at %d", file, offset)
	}
	stdout, _ := writers(t, l)
	write(t, stdout, "abc\nde\n")
	reader := openReader(t, l, 1, io.SeekStart)
	var got []string
	for p := make([]byte, 2); ; {
		file, offset := reader.Position()
		n, err := reader.Read(p)
		got = append(got, fmt.Sprintf("%s:%d %q", file, offset, p[:n]))
		if err != nil {
			break
		}
	}
	if want := `web.stdout.0:1 "bc" web.stdout.0:3 "\n" web.stdout.0:4 "de" web.stdout.1:2 "\n" web.stdout.1:3 ""`; strings.Join(got, " ") != want {
		t.Errorf("read %s\nwant %s", strings.Join(got, " "), want)
	}
}

// TestReaderReadsOnBeforeTheRemoval has a mark that says of the next file that it
// is about to be removed: while it is there, it is read.
func TestReaderReadsOnBeforeTheRemoval(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	fill(t, dir, map[string]string{"web.stdout.0": "a\n", "web.stdout.1": "b\n", "web.stdout.2": "c\n"})
	reader, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := (removed{2, 4, 2}).write(reader.dir, "web.stdout"); err != nil {
		t.Fatal(err)
	}
	if got := readOn(t, reader); got != "a\nb\nc\n" || reader.Skipped() != 0 {
		t.Errorf("read %q, skipped %d", got, reader.Skipped())
	}
	late, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if got := readOn(t, late); got != "c\n" || late.Skipped() != 0 {
		t.Errorf("a late one read %q, skipped %d", got, late.Skipped())
	}
}

func TestReaderHoldsLessThanAGiB(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	fill(t, dir, map[string]string{"web.stdout.0": "a", "web.stdout.1": "", "web.stdout.2": "c", "web.stdout.3": "d", "web.stdout.4": "e"})
	if err := os.Truncate(filepath.Join(dir, "web.stdout.1"), maxHeldBytes-1); err != nil {
		t.Skipf("there are no sparse files here: %v", err)
	}
	reader, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	check := func(when string, held int, size int64) {
		t.Helper()
		reader.Hold()
		if len(reader.held) != held || reader.heldBytes != size {
			t.Errorf("%s: %d files with %d bytes, want %d with %d", when, len(reader.held), reader.heldBytes, held, size)
		}
	}
	check("at first", 3, maxHeldBytes) // the size of the last one does not count
	reader.goOn()
	check("at the large one", 3, 2)
	reader.goOn()
	check("behind it", 2, 1)
}

// TestMarkSkipsWhatSomebodyRemoved removes the oldest file before the rotation
// does. The mark moves on, and counts the bytes that the rotation has removed.
func TestMarkSkipsWhatSomebodyRemoved(t *testing.T) {
	t.Parallel()
	for maxFiles := 1; maxFiles <= 3; maxFiles++ {
		var rec recorder
		l := rec.open(t, Config{MaxFiles: maxFiles, MaxFileSize: 4})
		stdout, _ := writers(t, l)
		for range maxFiles + 3 {
			write(t, stdout, "abc\n")
		}
		if err := os.Remove(filepath.Join(l.cfg.Dir.Name(), "web.stdout.3")); err != nil {
			t.Fatal(err)
		}
		write(t, stdout, "abc\n")
		if got, err := readMark(l.dir, "web.stdout"); got != (removed{4, 12, maxFiles + 3}) || err != nil {
			t.Errorf("%d files: %v, %v", maxFiles, got, err)
		}
	}
}

// TestOpenTail takes more lines than one block holds, of a text with a length
// on either side of it.
func TestOpenTail(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 5, tailBlock - 5, tailBlock, tailBlock + 5, 5 * tailBlock} {
		var rec recorder
		l := rec.open(t, Config{MaxFiles: 10, MaxFileSize: 50_000})
		stdout, _ := writers(t, l)
		all := strings.Repeat("line\n", size/5)
		write(t, stdout, all)
		for _, n := range []int{0, 1, 2, tailBlock / 5, 4 * tailBlock / 5, tailBlock} {
			r, err := openTail(l.cfg.Dir.Name(), "web", event.Stdout, n)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := readOn(t, r), all[max(0, len(all)-5*n):]; got != want {
				t.Errorf("%d lines of %d bytes: %d bytes, want %d", n, len(all), len(got), len(want))
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if r, err := openTail(filepath.Join(leaktest.TempDir(t), "none"), "web", event.Stdout, 1); r != nil || err == nil {
		t.Errorf("no directory: %v, %v", r, err)
	}
}

// TestIdleTaskTakesNoBuffer drains a FIFO that nothing else reads, with nothing
// in it, while all buffers are taken. It does not run beside other tests, which
// need them.
func TestIdleTaskTakesNoBuffer(t *testing.T) { //nolint:paralleltest // see above
	var rec recorder
	l := rec.open(t, plenty)
	stdout, err := l.openWriter(l.streams[event.Stdout])
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	var taken [][]byte
	for range cap(buffers) {
		taken = append(taken, takeBuffer())
	}
	drained := make(chan struct{})
	go func() { l.Drain(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(patience):
		t.Error("it waits for a buffer")
	}
	for _, buf := range taken {
		giveBuffer(buf)
	}
	<-drained
	write(t, stdout, "abc\n")
	if l.Drain(); rec.text(event.Stdout) != "abc\n" {
		t.Errorf("announced %q", rec.text(event.Stdout))
	}
}

func TestWhatIsInTheWayOfAFIFO(t *testing.T) {
	t.Parallel()
	for _, stream := range []event.Stream{event.Stdout, event.Stderr} {
		var rec recorder
		l := rec.open(t, plenty)
		name := filepath.Join(l.cfg.Dir.Name(), fifoName("web", stream))
		fill(t, name, map[string]string{"x": ""})
		if stdout, stderr, err := l.Files(); stdout != nil || stderr != nil || err == nil || !strings.Contains(err.Error(), "cannot open "+stream.String()+` of task "web"`) {
			t.Errorf("%v, %v, %v", stdout, stderr, err)
		}
		if err := l.Resume(); err == nil || !strings.Contains(err.Error(), "cannot resume "+stream.String()+` of task "web"`) {
			t.Errorf("Resume: %v", err)
		}
		if err := RemovePipes(l.cfg.Dir, "web"); err == nil {
			t.Error("a directory that is not empty was removed")
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		next := rec.open(t, Config{Dir: l.cfg.Dir, MaxFiles: 1, MaxFileSize: 1})
		stdout, stderr, err := next.Files()
		if err != nil {
			t.Fatal(err)
		}
		_ = stdout.Close()
		_ = stderr.Close()
		if err := RemovePipes(l.cfg.Dir, "web"); err != nil {
			t.Error(err)
		}
		for _, left := range names(t, l.cfg.Dir.Name()) {
			if strings.HasSuffix(left, ".fifo") {
				t.Errorf("left behind: %s", left)
			}
		}
	}
}

// TestLossFromTheBeginning removes the directory before the first write.
func TestLossFromTheBeginning(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(leaktest.TempDir(t), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var rec recorder
	l := rec.open(t, Config{Dir: at(t, dir), MaxFiles: 2, MaxFileSize: 100})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	stdout, _ := writers(t, l)
	write(t, stdout, "abc\n")
	write(t, stdout, "def\n")
	if got := rec.text(event.Stdout); got != "abc\ndef\n" {
		t.Errorf("announced %q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	want := "cannot write stdout of task \"web\": open web.stdout.0: no such file or directory" +
		"\n8 bytes of stdout of task \"web\" were not written: open web.stdout.0: no such file or directory"
	var got []string
	for _, err := range rec.reports {
		got = append(got, err.Error())
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("reported %q", got)
	}
}

// TestDrainReadsWhatIsThere writes more with each piece that is announced: that
// is left for the next time.
func TestDrainReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	var stdout *os.File
	rec := recorder{seen: func(event.Stream, []byte) { _, _ = stdout.WriteString("more\n") }}
	l := rec.open(t, plenty)
	stdout, err := l.openWriter(l.streams[event.Stdout])
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	write(t, stdout, "abc\n")
	for _, want := range []string{"abc\n", "abc\nmore\n"} {
		if l.Drain(); rec.text(event.Stdout) != want {
			t.Errorf("announced %.20q, want %q", rec.text(event.Stdout), want)
		}
	}
}

func TestReaderOfAFaultyFile(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	fill(t, dir, map[string]string{"web.stdout.0": "a\n", "web.stdout.1": "b\n"})
	reader, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.file.Close(); err != nil { // so that it cannot be read
		t.Fatal(err)
	}
	if n, err := reader.Read(make([]byte, 9)); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := reader.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if err := reader.seek(0, io.SeekStart); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("seek in a closed directory: %v", err)
	}
}
