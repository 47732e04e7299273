package jobspec_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"equals signs", "a=1\nbbb = 2\n\ncc =3\n", "a   = 1\nbbb = 2\n\ncc = 3\n"},
		{"blocks", "x \"l\"{\na=1\n  y{}\n }\n", "x \"l\" {\n  a = 1\n  y {}\n}\n"},
		{"expressions", "a=b?-1+2*3:[ 1,2 ]\n", "a = b ? -1 + 2 * 3 : [1, 2]\n"},
		{"comments", "a=1// one\nbbb=2 # two\n/* three */c=3\n", "a             = 1 // one\nbbb           = 2 # two\n/* three */ c = 3\n"},
		{"text stays", "a=\" ${ b }  c \"\nd=<<-EOT\n    e=1\n    EOT\n", "a = \" ${b}  c \"\nd = <<-EOT\n    e=1\n    EOT\n"},
		{"no newline at the end", "a=1", "a = 1"},
		{"line ends of Windows", "a=1\r\nbbb=2\r\n", "a   = 1\r\nbbb = 2\r\n"},
		{"byte order mark", "\ufeffa=1\n", "a = 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, diagnostics := jobspec.Format(jobspec.Source{Name: "f", Text: []byte(c.text)})
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			if string(got) != c.want {
				t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = 1\n  b = \n":            "f:2,7: invalid expression",
		"\n {\"job\": {}}":           "f:1,1: cannot format JSON",
		"a = '1'\n":                  "f:1,5: single quotes are not valid",
		"a = " + nested(100_000):     "f:1,",
		"a = \xff\n":                 "f:1,5: this is not UTF-8",
		"job \"x\" {\n[[ .y ]]\n}\n": "f:2,1: this is a template for a job file",
	} {
		formatted, diagnostics := jobspec.Format(jobspec.Source{Name: "f", Text: []byte(text)})
		if formatted != nil || len(diagnostics) == 0 || !strings.HasPrefix(diagnostics[0].Error(), want) {
			t.Errorf("%.50q becomes %.50q, with %v, want %s", text, formatted, diagnostics, want)
		}
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// FuzzFormat formats texts twice, and parses them before and after.
func FuzzFormat(f *testing.F) {
	for _, dir := range []string{"testdata/ok", "testdata/bad"} {
		for _, path := range jobFiles(f, dir) {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		formatted, diagnostics := jobspec.Format(jobspec.Source{Name: "f", Text: text})
		if len(diagnostics) > 0 {
			return
		}
		again, diagnostics := jobspec.Format(jobspec.Source{Name: "f", Text: formatted})
		if len(diagnostics) > 0 {
			t.Fatalf("%q becomes %q, with %v", text, formatted, diagnostics)
		}
		if !bytes.Equal(again, formatted) {
			t.Fatalf("%q becomes %q, and that %q", text, formatted, again)
		}
		if readsFiles(text) || isRandom(text) {
			return
		}
		before, diagnostics := jobspec.Parse(jobspec.Source{Name: "f", Text: text}, jobspec.Options{})
		after, now := jobspec.Parse(jobspec.Source{Name: "f", Text: formatted}, jobspec.Options{})
		if diagnostics.HasErrors() != now.HasErrors() {
			t.Fatalf("%q becomes %q: first %v, then %v", text, formatted, diagnostics, now)
		}
		if was, is := meaning(t, before), meaning(t, after); was != is {
			t.Fatalf("%q becomes %q: %s", text, formatted, cmp.Diff(was, is))
		}
	})
}

// meaning returns a job as JSON, without blanks in references.
func meaning(t *testing.T, file *jobspec.File) string {
	t.Helper()
	if file.Job == nil {
		return ""
	}
	var out strings.Builder
	if err := jobspec.WriteJSON(&out, file.Job); err != nil {
		t.Fatal(err)
	}
	return reference.ReplaceAllStringFunc(out.String(), func(s string) string {
		return strings.NewReplacer(" ", "", `\t`, "", `\n`, "", `\r`, "").Replace(s)
	})
}

var reference = regexp.MustCompile(`\$\{[^}]*\}`)

// isRandom reports whether a file may mean something else each time.
func isRandom(text []byte) bool {
	return bytes.Contains(text, []byte("uuidv4")) || bytes.Contains(text, []byte("bcrypt"))
}
