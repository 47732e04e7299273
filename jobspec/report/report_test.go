package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/report"
)

var update = flag.Bool("update", false, "write the golden files")

// Each testdata/*.hcl is a file with errors; the golden beside it is the
// report.
func TestReportsOfTypicalFaults(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: filepath.Base(path), Text: text}, jobspec.Options{})
		var got bytes.Buffer
		if err := report.RenderAll(&got, diagnostics, file.Sources, plain(80)); err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(path, ".hcl") + ".golden"
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// mark reports an error at the text between « and » in a source.
func mark(t *testing.T, source string, width int) string {
	t.Helper()
	begin := strings.Index(source, "«")
	source = strings.Replace(source, "«", "", 1)
	end := strings.Index(source, "»")
	source = strings.Replace(source, "»", "", 1)
	if begin < 0 || end < begin {
		t.Fatal("nothing is marked")
	}
	pos := func(offset int) jobspec.Pos {
		return jobspec.Pos{
			Line:   strings.Count(source[:offset], "\n") + 1,
			Column: utf8.RuneCountInString(source[strings.LastIndex(source[:offset], "\n")+1:offset]) + 1,
			Byte:   offset,
		}
	}
	p := jobspec.Diagnostic{Summary: "s", Range: jobspec.Range{File: "f", Start: pos(begin), End: pos(end)}}
	var b strings.Builder
	if err := report.Render(&b, p, map[string][]byte{"f": []byte(source)}, plain(width)); err != nil {
		t.Fatal(err)
	}
	_, snippet, _ := strings.Cut(b.String(), "\n  f:")
	_, snippet, _ = strings.Cut(snippet, "\n")
	return snippet
}

func TestTheUnderlineIsUnderTheRange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source string
		width  int
		want   string
	}{
		"plain": {"a = «1»", 80, "  1 | a = 1\n    |     ^\n"},
		"a later line, CRLF": {
			"a = 1\r\nbb = «22»\r\n", 80,
			"  2 | bb = 22\n    |      ^^\n",
		},
		"an empty range":      {"a =«» 1", 80, "  1 | a = 1\n    |    ^\n"},
		"the end of the file": {"a =«»", 80, "  1 | a =\n    |    ^\n"},
		"tabs": {
			"\ta\t= «\"x\ty\"»", 80,
			"  1 |     a   = \"x    y\"\n    |           ^^^^^^^^\n",
		},
		"wide characters": {
			"name = \"日本\" # «語»", 80,
			"  1 | name = \"日本\" # 語\n    |                 ^^\n",
		},
		"combining characters": {
			"e\u0301e\u0301 = «1»", 80,
			"  1 | e\u0301e\u0301 = 1\n    |      ^\n",
		},
		"control characters": {
			"a = \"\x1b[31m«b»\u202e\"", 80,
			"  1 | a = \"\\x1b[31mb\\u202e\"\n    |              ^\n",
		},
		"not UTF-8": {"a = \"\xff«b»\"", 80, "  1 | a = \"\ufffdb\"\n    |       ^\n"},
		"several lines": {
			"a = «[\n 1,\n 2,\n]» # x", 80,
			"  1 | a = [\n    |     ^\n    | … to line 4\n",
		},
		"a long line, range in the middle": {
			strings.Repeat("a", 100) + "«B»" + strings.Repeat("c", 100), 40,
			"  1 | …aaaaaaaaaaBccccccccccccccccccccc…\n    |            ^\n",
		},
		"a long line, range at the end": {
			strings.Repeat("a", 100) + "«B»", 40,
			"  1 | …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaB\n    |                                 ^\n",
		},
		"a long line, range at the start": {
			"«B»" + strings.Repeat("c", 100), 40,
			"  1 | Bccccccccccccccccccccccccccccccc…\n    | ^\n",
		},
		"a range longer than the screen": {
			"a «" + strings.Repeat("b", 100) + "» c", 40,
			"  1 | a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…\n    |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n",
		},
		"no limit":      {strings.Repeat("a", 100) + "«B»", 0, "  1 | " + strings.Repeat("a", 100) + "B\n    | " + strings.Repeat(" ", 100) + "^\n"},
		"nothing there": {"a\n«»\n", 80, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mark(t, test.source, test.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderWithoutSourceOrPlace(t *testing.T) {
	t.Parallel()
	at := jobspec.Pos{Line: 3, Column: 4, Byte: 500}
	for _, test := range []struct {
		diagnostic jobspec.Diagnostic
		sources    map[string][]byte
		want       string
	}{
		{jobspec.Diagnostic{Summary: "s", Severity: jobspec.Warning}, nil, "warning: s\n"},
		{jobspec.Diagnostic{Summary: "s", Range: jobspec.Range{File: "f", Start: at, End: at}}, nil, "error: s\n  f:3:4\n"},
		{
			jobspec.Diagnostic{Summary: "s", Detail: "d", Range: jobspec.Range{File: "f", Start: at, End: at}},
			map[string][]byte{"f": []byte("short")},
			"error: s\n  f:3:4\n  d\n",
		},
		{
			jobspec.Diagnostic{Summary: strings.Repeat("word ", 10), Detail: "one two", Remedy: "a" + strings.Repeat("b", 30)},
			nil,
			"error: word word\n  word word word\n  word word word\n  word word\n  one two\n  abbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n",
		},
	} {
		var b strings.Builder
		if err := report.Render(&b, test.diagnostic, test.sources, plain(20)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, b.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// full is a writer that accepts a number of writes.
type full int

func (n *full) Write(p []byte) (int, error) {
	if *n--; *n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// Diagnostics have an empty line between them, and a writer that fails ends them.
func TestRenderAll(t *testing.T) {
	t.Parallel()
	list := jobspec.Diagnostics{{Summary: "a"}, {Summary: "b"}, {Summary: "c"}}
	var b strings.Builder
	if err := report.RenderAll(&b, list, nil, plain(0)); err != nil || b.String() != "error: a\n\nerror: b\n\nerror: c\n" {
		t.Errorf("%q, %v", &b, err)
	}
	for writes := range 6 {
		accepts := full(writes)
		if err := report.RenderAll(&accepts, list, nil, plain(0)); (err == nil) != (writes == 5) {
			t.Errorf("after %d writes: %v", writes, err)
		}
	}
}

// Of a very long line only what is near is examined.
func TestLongLine(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("a", 5000) + "bad" + strings.Repeat("z", 5000)
	at := func(offset int) jobspec.Pos { return jobspec.Pos{Line: 1, Column: offset + 1, Byte: offset} }
	p := jobspec.Diagnostic{Summary: "s", Range: jobspec.Range{File: "f", Start: at(5000), End: at(5003)}}
	var b strings.Builder
	if err := report.Render(&b, p, map[string][]byte{"f": []byte(line)}, plain(0)); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "a") != 4096+1 || strings.Count(got, "z") != 4096-3 || !strings.Contains(got, "abadz") {
		t.Errorf("%d before, %d after: %.80s", strings.Count(got, "a"), strings.Count(got, "z"), got)
	}
}

// plain is a style without looks, with the given columns.
type plain int

func (p plain) Width() int { return int(p) }

func (plain) Paint(_ report.Kind, text string) string { return text }

// brackets is a style that shows the kind of each part.
type brackets struct{ plain }

func (brackets) Paint(kind report.Kind, text string) string {
	return "<" + []string{"failure", "caution", "location", "gutter", "mark", "remedy"}[kind] + ">" + text + "</>"
}

func TestStylePaintsTheParts(t *testing.T) {
	t.Parallel()
	p := jobspec.Diagnostic{
		Summary: "s", Detail: "d", Remedy: "r",
		Range: jobspec.Range{File: "f", Start: jobspec.Pos{Line: 1, Column: 1}, End: jobspec.Pos{Line: 1, Column: 2, Byte: 1}},
	}
	var b strings.Builder
	if err := report.Render(&b, p, map[string][]byte{"f": []byte("abc")}, brackets{80}); err != nil {
		t.Fatal(err)
	}
	want := `<failure>error: s</>
  <location>f:1:1</>
  <gutter>1 |</> abc
  <gutter>  |</> <mark>^</>
  d
  <remedy>r</>
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// For any source and place, there is no panic, no line beyond the width, and no
// control character.
func FuzzRender(f *testing.F) {
	f.Add("a = 1\nb = 2", 3, 5, 40)
	f.Add("日本語\t\x1b[0m", 1, 4, 10)
	f.Add(strings.Repeat("x", 300), 100, 250, 25)
	f.Fuzz(func(t *testing.T, source string, begin, end, width int) {
		p := jobspec.Diagnostic{
			Summary: source, Detail: source, Remedy: source,
			Range: jobspec.Range{
				File:  "f",
				Start: jobspec.Pos{Line: 1, Column: 1, Byte: begin},
				End:   jobspec.Pos{Line: 1, Column: 1, Byte: end},
			},
		}
		var b strings.Builder
		if err := report.Render(&b, p, map[string][]byte{"f": []byte(source)}, plain(width)); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && (r < ' ' || r == 0x7f) {
				t.Errorf("control character %q", r)
			}
		}
	})
}
