package visible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"letters", "grün — 日本 🚀 é", "grün — 日本 🚀 é"},
		{"escape sequence", "\x1b[2J", `\x1b[2J`},
		{"title", "\x1b]0;owned\a", `\x1b]0;owned\a`},
		{"C1 control", "\u009b31m", `\u009b31m`},
		{"a raw C1 byte", "\x9b31m", `\x9b31m`},
		{"delete and backspace", "a\x7f\b", `a\x7f\b`},
		{"carriage return", "good\rbad", `good\rbad`},
		{"right to left override", "a\u202eb", `a\u202eb`},
		{"isolates and marks", "\u2066\u2069\u200e\u200f\u061c", `\u2066\u2069\u200e\u200f\u061c`},
		{"zero width", "a\u200bb\u200d\ufeff\u00ad\u2060", `a\u200bb\u200d\ufeff\u00ad\u2060`},
		{"line separators", "a\u2028b\u2029\u0085", `a\u2028b\u2029\u0085`},
		{"tags", "\U000e0041", `\U000e0041`},
		{"not UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"a replacement character", "\ufffd", "\ufffd"},
		{"null", "\x00", `\x00`},
		{"a backslash", `C:\x1b`, `C:\x1b`},
		{"blanks", "a\u00a0\u3000b", "a\u00a0\u3000b"},
		{"empty", "", ""},
	} {
		if got := String(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := Text(c.in); got != c.want {
			t.Errorf("%s, as a text: %q, want %q", c.name, got, c.want)
		}
	}
	if got := String("a\n\tb\r\n"); got != `a\n\tb\r\n` {
		t.Errorf("lines in a name: %q", got)
	}
	if got := Text("a\n\tb\r\n"); got != "a\n\tb\\r\n" {
		t.Errorf("lines in a text: %q", got)
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if n, err := (Writer{&b}).Write([]byte("a\x1bb\n")); n != 4 || err != nil || b.String() != "a\\x1bb\n" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	const in = `{"a":"ü\u001b ` + "\u009b \u202e \x7f \U000e0041 日" + `"}`
	got := JSON([]byte(in))
	if want := `{"a":"ü\u001b \u009b \u202e \u007f \udb40\udc41 日"}`; string(got) != want {
		t.Errorf("%s", got)
	}
	var was, is any
	if err := json.Unmarshal([]byte(in), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &is); err != nil || was.(map[string]any)["a"] != is.(map[string]any)["a"] {
		t.Errorf("it means %q, %v", is, err)
	}
}

// Text without such characters needs no allocation.
func TestCleanTextIsLeftAlone(t *testing.T) { // not parallel: it counts allocations
	text, line := strings.Repeat("clean text ", 100), []byte(`{"a":"b"}`)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = String(text), Text(text), JSON(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"text", "\x1b[31m", "\u009d0;x\u009c", "\xc2", "\u202e\n", "\U000e0001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, out := range []string{String(in), Text(in)} {
			if !utf8.ValidString(out) || Text(out) != out {
				t.Errorf("%q became %q", in, out)
			}
			for _, r := range out {
				if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t' {
					t.Errorf("%q became %q, with %q in it", in, out, r)
				}
			}
		}
		quoted, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := json.Unmarshal(quoted, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(JSON(bytes.Clone(quoted)), &is); err != nil || was != is {
			t.Errorf("%q means %q in JSON, %v", was, is, err)
		}
	})
}
