package rawexec

import "testing"

// In a pattern, * matches any text, and no other character is special.
func TestDeniedVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "A", false},
		{"A", "A", true},
		{"A", "AB", false},
		{"A*", "A", true},
		{"A*", "AB", true},
		{"A*", "BA", false},
		{"*A", "BA", true},
		{"*A", "AB", false},
		{"*", "A", true},
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
		left := environment(map[string]string{c.name: "x"}, nil, []string{c.pattern})
		if got := len(left) == 0; got != c.want {
			t.Errorf("%q denies %q: %v", c.pattern, c.name, got)
		}
	}
}
