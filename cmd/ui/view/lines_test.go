package view

import (
	"bytes"
	"strings"
	"testing"
)

// cutAll cuts pieces with a limit and returns the parts; a complete line has
// its newline.
func cutAll(limit int, pieces ...[]byte) (parts []string) {
	l := lines{limit: limit}
	emit := func(text []byte, whole bool) {
		part := string(text)
		if whole {
			part += "\n"
		}
		parts = append(parts, part)
	}
	for _, p := range pieces {
		l.cut(p, emit)
	}
	l.release(emit)
	return parts
}

func TestLinesAcrossPieces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"one piece", []string{"a\nb\n"}, []string{"a\n", "b\n"}},
		{"a line in three pieces", []string{"a", "b", "c\n"}, []string{"abc\n"}},
		{"newline on its own", []string{"a", "\n"}, []string{"a\n"}},
		{"empty lines", []string{"\n\n"}, []string{"\n", "\n"}},
		{"no newline at the end", []string{"a\nb"}, []string{"a\n", "b"}},
		{"beyond the limit", []string{"0123456789", "abc\n"}, []string{"0123456789", "abc\n"}},
		{"beyond the limit bit by bit", []string{"01234", "56789", "\n"}, []string{"01234", "56789", "\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var pieces [][]byte
			for _, p := range c.pieces {
				pieces = append(pieces, []byte(p))
			}
			got := cutAll(8, pieces...)
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzLines checks that no byte is lost, duplicated or moved.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbc\n\nd"), 1, 16)
	f.Add([]byte(strings.Repeat("x", 100)), 7, 10)
	f.Fuzz(func(t *testing.T, data []byte, size, limit int) {
		size, limit = max(1, size%64), max(1, limit%64)
		var pieces [][]byte
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			pieces = append(pieces, bytes.Clone(rest[:min(size, len(rest))]))
		}
		if got := strings.Join(cutAll(limit, pieces...), ""); got != string(data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}
