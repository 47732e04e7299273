package rawexec

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "A", false},
		{"A", "A", true},
		{"A", "AB", false},
		{"A*", "A", true},
		{"A*", "AB", true},
		{"A*", "BA", false},
		{"*A", "BA", true},
		{"*A", "AB", false},
		{"*", "", true},
		{"**", "A", true},
		{"*A*", "BAB", true},
		{"*A*", "B", false},
		{"A*A", "A", false},
		{"A*A", "AA", true},
		{"A*B*C", "AxBxC", true},
		{"A*B*C", "AxCxB", false},
		{"A*BC*C", "ABC", false},
		{"A?", "AB", false},
		{"[A]", "A", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func FuzzMatches(f *testing.F) {
	f.Add("A*B", "AxB")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := matches(pattern, name)
		if !strings.Contains(pattern, "*") && got != (pattern == name) {
			t.Errorf("%q matches %q: %v", pattern, name, got)
		}
		if got && !matches("*"+pattern+"*", "x"+name+"x") {
			t.Errorf("%q matches %q, but not with more around it", pattern, name)
		}
		if !matches(strings.ReplaceAll(pattern, "*", "")+"*", strings.ReplaceAll(pattern, "*", "")+name) {
			t.Errorf("a beginning of %q is not matched", pattern)
		}
	})
}
