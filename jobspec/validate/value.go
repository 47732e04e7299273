package validate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// deref returns the value of p, or the zero value if p is nil, as for a null in
// JSON.
func deref[T any](p *T) T {
	return *orEmpty(p)
}

// orEmpty replaces the null elements that JSON allows in a list. An empty block
// breaks the rules of its kind, so it is reported like any other.
func orEmpty[T any](p *T) *T {
	return cmp.Or(p, new(T))
}

// blocks yields the blocks of a kind with their paths.
func blocks[T any](list []*T, kind string, at jobspec.Path) iter.Seq2[*T, jobspec.Path] {
	return func(yield func(*T, jobspec.Path) bool) {
		for i, b := range list {
			if !yield(orEmpty(b), at.Index(kind, i)) {
				return
			}
		}
	}
}

// same reports whether both are set to the same value.
func same[T comparable](a, b *T) bool {
	return a != nil && b != nil && *a == *b
}

// plain formats a duration as people write it: "1m", not "1m0s".
func plain(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if short, ok := strings.CutSuffix(text, zero); ok && short != "" && strings.ContainsAny(short[len(short)-1:], "hm") {
			text = short
		}
	}
	return text
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// cleanName returns a label in the form in which it occurs in names of
// variables.
func cleanName(label string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || isAlphanumeric(r) {
			return r
		}
		return '_'
	}, label)
}

func notInName(r rune) bool {
	return r != '_' && r != '-' && r != '.' && !isAlphanumeric(r)
}

// replaceReferences replaces every ${NAME} by a word.
func replaceReferences(text, word string) string {
	return taskenv.Replace(text, func(string) (string, bool) { return word, true })
}

// hasReference reports whether a text contains ${NAME}.
func hasReference(text string) bool { return replaceReferences(text, "") != text }

// eachString visits the strings in a value of a free-form block.
func eachString(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []string:
		for _, s := range v {
			visit(s)
		}
	case []any:
		for _, e := range v {
			eachString(e, visit)
		}
	case []map[string]any:
		for _, m := range v {
			eachString(m, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachString(v[key], visit)
		}
	}
}
