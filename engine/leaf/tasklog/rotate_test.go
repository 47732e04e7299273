package tasklog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func lines(n, length int) string { return strings.Repeat(strings.Repeat("x", length-1)+"\n", n) }

func TestFit(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	for name, tt := range map[string]struct {
		p           string
		size, limit int64
		midLine     bool
		want        int
	}{
		"far from the end":                  {p: "abc", limit: limit, want: 3},
		"full file":                         {p: "abc", size: limit, limit: limit, want: 0},
		"more than full":                    {p: "abc", size: limit + 1, limit: limit, want: 0},
		"line that fits exactly":            {p: "abc\n", size: limit - 4, limit: limit, want: 4},
		"line that does not fit":            {p: "abcd\n", size: limit - 4, limit: limit, want: 0},
		"lines, the last does not fit":      {p: "a\nb\ncd\n", size: limit - 5, limit: limit, want: 4},
		"line that may grow":                {p: "abc", size: limit - 100, limit: limit, want: 0},
		"line that may grow behind a line":  {p: "a\nbc", size: limit - 100, limit: limit, want: 2},
		"line under way":                    {p: "abc", size: limit - 100, limit: limit, midLine: true, want: 3},
		"line under way that does not fit":  {p: "abc", size: limit - 2, limit: limit, midLine: true, want: 2},
		"room for a line that may grow":     {p: "abc", size: limit - maxLine, limit: limit, want: 3},
		"no room for a line that may grow":  {p: "abc", size: limit - maxLine + 1, limit: limit, want: 0},
		"line longer than a file":           {p: lines(1, limit+1), size: 10, limit: limit, want: limit - 10},
		"line as long as a file":            {p: lines(1, limit), size: 10, limit: limit, want: 0},
		"line as long as an empty file":     {p: lines(1, limit), limit: limit, want: limit},
		"part longer than a file":           {p: strings.Repeat("x", limit+1), size: 10, limit: limit, want: limit - 10},
		"small file, line":                  {p: "abc\n", size: 7, limit: 10, want: 0},
		"small file, part":                  {p: "abcd", size: 7, limit: 10, want: 3},
		"small file, line longer than file": {p: "abcdefghijklm\n", size: 7, limit: 10, want: 3},
		"one byte a file":                   {p: "abc", limit: 1, want: 1},
	} {
		if got := fit([]byte(tt.p), tt.size, tt.limit, tt.midLine); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// FuzzFit writes random lines in random pieces to files in memory: all is
// kept in order, no file is too large, and no line of up to maxLine is cut.
func FuzzFit(f *testing.F) {
	f.Add(uint64(1), uint32(10), uint32(5), uint32(3))
	f.Add(uint64(2), uint32(1), uint32(40), uint32(1))
	f.Add(uint64(3), uint32(100_000), uint32(1000), uint32(100_000))
	f.Add(uint64(4), uint32(100_000), uint32(maxLine), uint32(65536))
	f.Add(uint64(5), uint32(maxLine), uint32(maxLine), uint32(1000))
	f.Add(uint64(6), uint32(200_000), uint32(300_000), uint32(10_000))
	f.Fuzz(func(t *testing.T, seed uint64, limit, maxLength, maxPiece uint32) {
		limit, maxLength, maxPiece = 1+limit%300_000, 1+maxLength%300_000, 1+maxPiece%300_000
		r := rand.New(rand.NewPCG(seed, 0))
		var text []byte
		for len(text) < 1_000_000 && len(text) < 200*int(maxPiece) {
			line := bytes.Repeat([]byte{'x'}, 1+int(r.Uint32N(maxLength)))
			line[len(line)-1] = '\n'
			text = append(text, line...)
		}
		files := [][]byte{nil}
		for rest := text; len(rest) > 0; {
			p := rest[:min(len(rest), 1+int(r.Uint32N(maxPiece)))]
			rest = rest[len(p):]
			for len(p) > 0 {
				current := &files[len(files)-1]
				n := fit(p, int64(len(*current)), int64(limit), len(*current) > 0 && (*current)[len(*current)-1] != '\n')
				if n < 0 || n > len(p) {
					t.Fatalf("%d of %d bytes", n, len(p))
				}
				*current = append(*current, p[:n]...)
				if p = p[n:]; len(p) > 0 {
					if len(*current) == 0 {
						t.Fatal("an empty file takes nothing")
					}
					files = append(files, nil)
				}
			}
		}
		checkFiles(t, files, text, int(limit))
	})
}

// checkFiles compares files with the text that was written to them.
func checkFiles(t *testing.T, files [][]byte, text []byte, limit int) {
	t.Helper()
	if !bytes.Equal(bytes.Join(files, nil), text) {
		t.Fatal("the files do not hold what was written")
	}
	end := 0
	for i, file := range files {
		if len(file) > limit {
			t.Fatalf("file %d has %d bytes, limit %d", i, len(file), limit)
		}
		end += len(file)
		if limit < maxLine || end == 0 || end == len(text) || text[end-1] == '\n' {
			continue
		}
		line := bytes.IndexByte(text[end:], '\n') + end - bytes.LastIndexByte(text[:end], '\n')
		if line <= maxLine {
			t.Fatalf("file %d ends within a line of %d bytes", i, line)
		}
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		maxFiles int
		limit    int64
		writes   []string
		want     []string // the files
		first    int      // number of the first
	}{
		"one line a file": {2, 4, []string{"abc\n", "def\n", "ghi\n"}, []string{"def\n", "ghi\n"}, 1},
		"one write":       {9, 4, []string{"abc\ndef\nghi\n"}, []string{"abc\n", "def\n", "ghi\n"}, 0},
		"one file":        {1, 4, []string{"abc\ndef\n", "ghi\n"}, []string{"ghi\n"}, 2},
		"long line":       {9, 4, []string{"abcdefghij\n"}, []string{"abcd", "efgh", "ij\n"}, 0},
		"full is enough":  {9, 4, []string{"abc\n"}, []string{"abc\n"}, 0},
		"nothing":         {9, 4, nil, []string{""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r recorder
			l := r.open(t, Config{MaxFiles: tt.maxFiles, MaxFileSize: tt.limit})
			stdout, _ := writers(t, l)
			for _, text := range tt.writes {
				write(t, stdout, text)
			}
			files, indexes := onDisk(t, l.cfg.Dir.Name(), event.Stdout)
			var got []string
			for i, file := range files {
				got = append(got, string(file))
				if indexes[i] != tt.first+i {
					t.Errorf("numbers %v, want them from %d", indexes, tt.first)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("files %q, want %q", got, tt.want)
			}
			if got, want := r.text(event.Stdout), strings.Join(tt.writes, ""); got != want {
				t.Errorf("announced %q, want %q", got, want)
			}
		})
	}
}

func TestRotationGoesOnWhereAnEarlierLogEnded(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	var want strings.Builder
	for life := range 5 {
		var r recorder
		l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 3, MaxFileSize: 10})
		stdout, _ := writers(t, l)
		for i := range 7 {
			text := string(rune('a'+life)) + string(rune('0'+i)) + "..\n"
			want.WriteString(text)
			write(t, stdout, text)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, indexes := onDisk(t, dir, event.Stdout)
	// Two lines fill a file: 35 lines are files 0 to 17.
	if !slices.Equal(indexes, []int{15, 16, 17}) {
		t.Errorf("numbers %v, want 15 to 17", indexes)
	}
	if got := string(bytes.Join(files, nil)); !strings.HasSuffix(want.String(), got) || len(got) != 25 {
		t.Errorf("files %q", files)
	}
}

func TestRotationGoesOnBehindTheHighestFile(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for name, text := range map[string]string{"web.stdout.3": "full", "web.stdout.007": "", "web.stdout.x": "", "web.stderr.9": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The first number is free, but the highest counts.
	if err := os.WriteFile(filepath.Join(dir, "web.stdout.0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var r recorder
	l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 3, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	write(t, stdout, "abc\n")
	if err := os.WriteFile(filepath.Join(dir, "web.stdout.5"), []byte("full"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, stdout, "abc\n")
	files, indexes := onDisk(t, dir, event.Stdout)
	if got := string(bytes.Join(files, []byte{'|'})); got != "full|abc\n|abc\n" || !slices.Equal(indexes, []int{3, 4, 5}) {
		t.Errorf("files %q with numbers %v, want 3, 4, 5", got, indexes)
	}
}

func TestLineUnderWayIsContinuedAfterReopening(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for _, text := range []string{strings.Repeat("x", 40<<10), "rest\n"} {
		var r recorder
		l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 3, MaxFileSize: 50 << 10})
		stdout, _ := writers(t, l)
		write(t, stdout, text)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, indexes := onDisk(t, dir, event.Stdout); !slices.Equal(indexes, []int{0}) {
		t.Errorf("numbers %v: the line was cut", indexes)
	}
}

func TestRetainedPiecesSurviveRotation(t *testing.T) {
	t.Parallel()
	r := recorder{retain: true}
	l := r.open(t, Config{MaxFiles: 1, MaxFileSize: 1000})
	stdout, _ := writers(t, l)
	for i := range 300 {
		write(t, stdout, lines(1, 1+i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.pieces {
		got := make([]byte, len(p.data))
		if _, err := p.src.ReadAt(got, p.offset); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, p.data) {
			t.Fatal("a retained piece has changed")
		}
	}
	for _, p := range r.pieces {
		p.src.Release()
	}
	for _, p := range r.pieces {
		if _, err := p.src.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("a file is still open when nobody retains it: %v", err)
		}
	}
}

func TestRotationMatchesItsModelOnDisk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit := int64(1 + r.IntN(200_000))
		var rec recorder
		l := rec.open(t, Config{MaxFiles: 1 << 20, MaxFileSize: limit})
		stdout, _ := writers(t, l)
		var text []byte
		for len(text) < int(limit)*10 {
			piece := lines(1+r.IntN(20), 1+r.IntN(3000))
			piece = piece[:len(piece)-r.IntN(len(piece))]
			text = append(text, piece...)
			write(t, stdout, piece)
		}
		files, _ := onDisk(t, l.cfg.Dir.Name(), event.Stdout)
		checkFiles(t, files, text, int(limit))
		if rec.text(event.Stdout) != string(text) {
			t.Error("what was announced differs")
		}
	}
}
