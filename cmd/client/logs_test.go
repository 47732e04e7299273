package client

import (
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"a", 1, "a"},
		{"a\n", 1, "a\n"},
		{"a\nb\n", 1, "b\n"},
		{"a\nb", 1, "b"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 4, "a\nb\nc\n"},
		{"a\n\n\n", 2, "\n\n"},
		{"\n", 1, "\n"},
		{"a\nb\n", 0, ""},
	} {
		if got := string(lastLines([]byte(c.text), c.n)); got != c.want {
			t.Errorf("last %d of %q: %q, want %q", c.n, c.text, got, c.want)
		}
	}
	long := strings.Repeat("a line\n", 100_000)
	if got := lastLines([]byte(long), 99_999); len(got) != len(long)-7 {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
}
