package tasklog

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func openReader(t testing.TB, l *Log, offset int64, whence int) *Reader {
	t.Helper()
	r, err := OpenReader(l.cfg.Dir.Name(), "web", event.Stdout, offset, whence)
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

// readOn reads to the current end.
func readOn(t testing.TB, r *Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReaderStartsAnywhere(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 10, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	const text = "abc\ndef\ng\nh"
	write(t, stdout, text)
	for offset := range int64(len(text) + 3) {
		from := min(int(offset), len(text))
		if got := readOn(t, openReader(t, l, offset, io.SeekStart)); got != text[from:] {
			t.Errorf("from %d: %q, want %q", offset, got, text[from:])
		}
		if got := readOn(t, openReader(t, l, offset, io.SeekEnd)); got != text[len(text)-from:] {
			t.Errorf("%d from the end: %q, want %q", offset, got, text[len(text)-from:])
		}
	}
}

func TestReaderFollows(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 1000, MaxFileSize: 300})
	stdout, _ := writers(t, l)
	reader := openReader(t, l, 0, io.SeekStart) // before there is a file
	random := rand.New(rand.NewPCG(1, 2))
	var want, got strings.Builder
	for range 500 {
		text := lines(random.IntN(5), 1+random.IntN(200))
		want.WriteString(text)
		write(t, stdout, text)
		if random.IntN(3) == 0 {
			got.WriteString(readOn(t, reader))
		}
	}
	got.WriteString(readOn(t, reader))
	if got.String() != want.String() {
		t.Error("what was read differs from what was written")
	}
	if reader.Skipped() != 0 {
		t.Errorf("%d bytes were skipped", reader.Skipped())
	}
}

func TestReaderSkipsWhatIsGone(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 2, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	write(t, stdout, "0..\n")
	reader := openReader(t, l, 0, io.SeekStart)
	write(t, stdout, "1..\n2..\n3..\n4..\n")
	if got := readOn(t, reader); got != "0..\n3..\n4..\n" {
		t.Errorf("read %q", got)
	}
	if reader.Skipped() != 8 {
		t.Errorf("%d bytes were skipped, want 8", reader.Skipped())
	}
	write(t, stdout, "5..\n")
	if got := readOn(t, reader); got != "5..\n" {
		t.Errorf("read on %q", got)
	}
}

// A file that is removed in the middle hides nothing after it.
func TestReaderPassesOverWhatSomebodyRemoved(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 100, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	write(t, stdout, "0..\n")
	follower := openReader(t, l, 0, io.SeekStart)
	if got := readOn(t, follower); got != "0..\n" {
		t.Errorf("the follower read %q", got)
	}
	write(t, stdout, lines(50, 4)+"51.\n")
	for i := 1; i < 51; i++ {
		if err := os.Remove(filepath.Join(l.cfg.Dir.Name(), fileName("web.stdout", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := readOn(t, follower); got != "51.\n" {
		t.Errorf("the follower read on %q", got)
	}
	if got := readOn(t, openReader(t, l, 0, io.SeekStart)); got != "0..\n51.\n" {
		t.Errorf("read %q", got)
	}
	if got := readOn(t, openReader(t, l, 4, io.SeekEnd)); got != "51.\n" {
		t.Errorf("read %q at the end", got)
	}
}

// Every byte is either read or counted, whenever the reader began and however
// late it is, over another Log, and whatever it holds.
func TestReaderCountsWhatIsGone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		var rec recorder
		cfg := Config{Dir: at(t, leaktest.TempDir(t)), MaxFiles: 1 + random.IntN(4), MaxFileSize: int64(1 + random.IntN(500))}
		l := rec.open(t, cfg)
		var written int64
		type following struct {
			*Reader
			from, got int64
		}
		var readers []*following
		for range 200 {
			switch random.IntN(12) {
			case 0:
				r := &following{Reader: openReader(t, l, 0, io.SeekEnd), from: written}
				readers = append(readers, r)
			case 1:
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = rec.open(t, cfg)
			case 2:
				for _, r := range readers {
					if random.IntN(3) == 0 {
						r.Hold()
					}
				}
			case 3:
				for _, r := range readers {
					if random.IntN(3) == 0 {
						r.got += int64(len(readOn(t, r.Reader)))
					}
				}
			default:
				stdout, _ := writers(t, l)
				text := lines(1+random.IntN(3), 1+random.IntN(300))
				written += int64(len(text))
				write(t, stdout, text)
			}
		}
		for i, r := range readers {
			r.got += int64(len(readOn(t, r.Reader)))
			if want := written - r.from; r.got+r.Skipped() != want {
				t.Errorf("seed %d, reader %d: %d bytes were read and %d skipped of %d", seed, i, r.got, r.Skipped(), want)
			}
		}
	}
}

func TestReaderHolds(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 1, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	reader := openReader(t, l, 0, io.SeekStart)
	want := ""
	for i := range 2 * maxHeldFiles {
		text := fmt.Sprintf("%03d\n", i)
		write(t, stdout, text)
		reader.Hold()
		if i <= maxHeldFiles || i == 2*maxHeldFiles-1 {
			want += text
		}
	}
	if got := readOn(t, reader); got != want {
		t.Errorf("read %q", got)
	}
	if got, want := reader.Skipped(), int64(4*(maxHeldFiles-2)); got != want {
		t.Errorf("%d bytes were skipped, want %d", got, want)
	}
}

func TestReaderWithoutDirectory(t *testing.T) {
	t.Parallel()
	if _, err := OpenReader(filepath.Join(leaktest.TempDir(t), "none"), "web", event.Stdout, 0, io.SeekStart); err == nil {
		t.Error("no error")
	}
}

// A reader of the latest part passes over the rest, in whichever files that is.
func TestReaderSkipsTo(t *testing.T) {
	t.Parallel()
	var rec recorder
	l := rec.open(t, Config{MaxFiles: 10, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	const text = "abc\ndef\ng\nh"
	write(t, stdout, text)
	for start := range int64(len(text)) {
		for last := range int64(len(text) + 3) {
			reader := openReader(t, l, start, io.SeekStart)
			reader.SkipTo(last)
			from := max(int(start), len(text)-int(last))
			if got := readOn(t, reader); got != text[from:] || reader.Skipped() != int64(from)-start {
				t.Errorf("the last %d from %d: %q, %d skipped", last, start, got, reader.Skipped())
			}
		}
	}
	early := openReader(t, l, 0, io.SeekEnd)
	write(t, stdout, "i\njkl\nm")
	early.SkipTo(3)
	if got := readOn(t, early); got != "l\nm" || early.Skipped() != 4 {
		t.Errorf("of what was written later: %q, %d skipped", got, early.Skipped())
	}
}

// A directory that cannot be read is no empty one.
func TestDirectoryCannotBeRead(t *testing.T) {
	t.Parallel()
	d := dirAt(t, leaktest.TempDir(t))
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	r := &Reader{dir: d, prefix: "web.stdout"}
	if err := r.seek(0, io.SeekStart); err == nil {
		t.Error("it was read")
	}
}
