package taskenv

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	known := map[string]string{"A": "1", "a.b-c_9": "2", "LOOP": "${A}", "EMPTY": ""}
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"no reference", "$A {A} $(A)", "$A {A} $(A)"},
		{"whole", "${A}", "1"},
		{"all bytes of a name", "<${a.b-c_9}>", "<2>"},
		{"several", "${A}${A}/${EMPTY}/${A}", "11//1"},
		{"unknown stays", "${B} ${A}", "${B} 1"},
		{"blanks never match", "${ A} ${A }", "${ A} ${A }"},
		{"empty name", "${}", "${}"},
		{"unclosed", "${A", "${A"},
		{"other braces", "${A:-x} ${A[0]} ${upper(A)}", "${A:-x} ${A[0]} ${upper(A)}"},
		{"no escape", "$${A}", "$1"},
		{"nested finds the inner one", "${${A}}", "${1}"},
		{"starts again after a false start", "${A${A}", "${A1"},
		{"not replaced again", "${LOOP}", "${A}"},
		{"beyond ASCII", "ä${A}ß${ä}", "ä1ß${ä}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := Replace(tc.in, func(name string) (string, bool) { v, ok := known[name]; return v, ok })
			if got != tc.want {
				t.Errorf("Replace(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	got := slices.Collect(References("${} ${A} ${ B } $${C-d} ${e.f"))
	if want := []string{"A", "C-d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range References("${A}${B}") {
		break // stops early
	}
}

// FuzzReplace compares the result with a regular expression according to the
// documentation.
func FuzzReplace(f *testing.F) {
	for _, seed := range []string{"${A}", "${${A}}", "${A${A}", "$${A}}", "${", "${}", "a${x.y-z}b", "${Ä}${A}"} {
		f.Add(seed)
	}
	reference := regexp.MustCompile(`\$\{[a-zA-Z0-9_.-]+\}`)
	f.Fuzz(func(t *testing.T, s string) {
		lookup := func(name string) (string, bool) { return "<" + name + ">", len(name)%2 == 1 }
		want := reference.ReplaceAllStringFunc(s, func(ref string) string {
			if value, ok := lookup(ref[2 : len(ref)-1]); ok {
				return value
			}
			return ref
		})
		if got := Replace(s, lookup); got != want {
			t.Errorf("Replace(%q) = %q, want %q", s, got, want)
		}
	})
}

// The names of the references in a part of a job are those of all its texts.
func TestReferencesIn(t *testing.T) {
	t.Parallel()
	got := slices.Sorted(maps.Keys(ReferencesIn(&api.Task{
		Name: "${a}", Config: map[string]any{"args": []string{"-x", "${b}${a}", "$${not-one"}}, Env: map[string]string{"X": "${meta.c}"},
	})))
	if want := []string{"a", "b", "meta.c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ReferencesIn(func() {}); len(got) > 0 {
		t.Errorf("in what cannot be encoded there are %v", got)
	}
}
