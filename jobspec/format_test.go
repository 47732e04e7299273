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
		formatted, problems := jobspec.Format(jobspec.Source{Name: "f", Text: text})
		if len(problems) > 0 {
			return
		}
		again, problems := jobspec.Format(jobspec.Source{Name: "f", Text: formatted})
		if len(problems) > 0 {
			t.Fatalf("%q becomes %q, with %v", text, formatted, problems)
		}
		if !bytes.Equal(again, formatted) {
			t.Fatalf("%q becomes %q, and that %q", text, formatted, again)
		}
		if readsFiles(text) || isRandom(text) {
			return
		}
		before, problems := jobspec.Parse(jobspec.Source{Name: "f", Text: text}, jobspec.Options{})
		after, now := jobspec.Parse(jobspec.Source{Name: "f", Text: formatted}, jobspec.Options{})
		if problems.HasErrors() != now.HasErrors() {
			t.Fatalf("%q becomes %q: first %v, then %v", text, formatted, problems, now)
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
