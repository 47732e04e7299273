package tasklog

import (
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/event"
)

func openReader(t testing.TB, l *Log, offset int64, whence int) *Reader {
	t.Helper()
	r, err := OpenReader(l.cfg.Dir, "web", event.Stdout, offset, whence)
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

// readOn reads to the end of what there is.
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
		t.Errorf("%d files were skipped", reader.Skipped())
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
	if reader.Skipped() != 2 {
		t.Errorf("%d files were skipped, want 2", reader.Skipped())
	}
	write(t, stdout, "5..\n")
	if got := readOn(t, reader); got != "5..\n" {
		t.Errorf("read on %q", got)
	}
}

func TestReaderWithoutDirectory(t *testing.T) {
	t.Parallel()
	if _, err := OpenReader(filepath.Join(t.TempDir(), "none"), "web", event.Stdout, 0, io.SeekStart); err == nil {
		t.Error("no error")
	}
}
