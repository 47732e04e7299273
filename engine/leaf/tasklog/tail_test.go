package tasklog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func TestTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*tailBlock)
	for name, tt := range map[string]struct {
		files []string // from number 8 on
		lines int
		want  []string
	}{
		"nothing":                 {nil, 3, nil},
		"empty file":              {[]string{""}, 3, nil},
		"no lines wanted":         {[]string{"a\nb\n"}, 0, nil},
		"fewer":                   {[]string{"a\nb\n"}, 3, []string{"a\n", "b\n"}},
		"as many":                 {[]string{"a\nb\n"}, 2, []string{"a\n", "b\n"}},
		"more":                    {[]string{"a\nb\nc\n"}, 2, []string{"b\n", "c\n"}},
		"last without newline":    {[]string{"a\nb\nc"}, 2, []string{"b\n", "c"}},
		"only without newline":    {[]string{"abc"}, 2, []string{"abc"}},
		"empty lines":             {[]string{"a\n\n\n"}, 2, []string{"\n", "\n"}},
		"over files":              {[]string{"a\nb\n", "c\n", "", "d\ne"}, 4, []string{"b\n", "c\n", "d\n", "e"}},
		"from the last file only": {[]string{"a\nb\n", "c\nd\n"}, 1, []string{"d\n"}},
		"line cut by rotation":    {[]string{"a\nbc", "de\nf"}, 2, []string{"bcde\n", "f"}},
		"numbers are no text":     {[]string{"8\n", "9\n", "10\n", "11\n"}, 3, []string{"9\n", "10\n", "11\n"}},
		"longer than a block":     {[]string{"a\n" + long, long + "\nb\n"}, 2, []string{long + long + "\n", "b\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := leaktest.TempDir(t)
			for i, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, fileName("web.stderr", 8+i)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, err := openTail(dir, "web", event.Stderr, tt.lines)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got, want := readOn(t, r), strings.Join(tt.want, ""); got != want {
				t.Errorf("%.40q, want %.40q", got, want)
			}
		})
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for i := range 2 {
		name := filepath.Join(dir, "web.stdout."+strconv.Itoa(i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, maxTail); err != nil {
			t.Fatal(err)
		}
	}
	r, err := openTail(dir, "web", event.Stdout, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if name, offset := r.Position(); name != "web.stdout.1" || offset != 0 {
		t.Errorf("it begins in %s at %d", name, offset)
	}
}

func TestTailWithoutDirectory(t *testing.T) {
	t.Parallel()
	if _, err := openTail(filepath.Join(leaktest.TempDir(t), "none"), "web", event.Stdout, 1); err == nil {
		t.Error("no error")
	}
}

// A failing disk is not taken for the end of the output.
func TestTailOfAnUnreadableFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))
	if lines, read, err := countLines(text); !errors.Is(err, broken) || lines != 0 || read != 0 {
		t.Errorf("%d lines and %d bytes were counted, error %v", lines, read, err)
	}
	dir := leaktest.TempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "web.stdout.0"), []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.skipLines(1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("lines were skipped: error %v", err)
	}
	if err := r.skipLines(0); err != nil {
		t.Errorf("no line is to be skipped: %v", err)
	}
	_ = r.Close() // closes the file once more
}
