package ui

import (
	"slices"
	"testing"
	"unicode/utf8"

	"taskrun/cmd/prose"
	"taskrun/jobspec/visible"
)

// The widest of the first columns are shortened first, down to one character.
// If that is not enough, nothing is cut.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	for width, want := range map[int][]string{
		0:  {"abcdef  ABCDEFGHIJ  \\x1b  1234"},
		30: {"abcdef  ABCDEFGHIJ  \\x1b  1234"},
		27: {"abcdef  ABC…HIJ  \\x1b  1234"},
		23: {"a…ef  AB…IJ  \\x1b  1234"},
		16: {"…  …  \\x1b  1234"},
		15: {"abcdef  ABCDEFGHIJ  \\x1b  1234"},
	} {
		table := NewTable(NewStyle(false), 2, "abcdef", "ABCDEFGHIJ", "\x1b", "1234")
		if got := table.Fit(width, 2).Lines(); !slices.Equal(got, want) {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// Columns have their displayed width: ideographs and emoji take two columns,
// combining marks none.
func TestWideTextAligns(t *testing.T) {
	t.Parallel()
	texts := []string{"日本語サービス", "🚀-deploy", "e\u0301te\u0301", "plain", "한국어", "👍🏽", "क्षि"}
	for width := range 60 {
		table := NewTable(NewStyle(false), 2, "A", "B", "C")
		for _, text := range texts {
			table.Add(NewStyle(false).Plain, text, text, "1")
		}
		lines := table.Fit(width, 2).Lines()[1:]
		for i, line := range lines {
			if got, want := prose.Width(line), prose.Width(lines[0]); got != want {
				t.Errorf("%d columns: %q takes %d, %q %d", width, texts[i], got, texts[0], want)
			}
			if got := prose.Width(line); width > 8 && got > width {
				t.Errorf("%q takes %d of %d columns", line, got, width)
			}
		}
	}
	table := NewTable(NewStyle(false), 1, "日本", "1")
	table.Add(NewStyle(false).Plain, "e\u0301te", "20")
	if got, want := table.Lines(), []string{"日本   1", "e\u0301te   20"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A cut text is no wider than the limit, and consists of complete characters.
func FuzzCuts(f *testing.F) {
	f.Add("日本語サービス[12]/タスク", 12)
	f.Add("👩🏽e\u0301\u0301🇩🇪 a b", 3)
	f.Add("a\u200d\t\x1b[31mb\xff", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text, limit = visible.String(text), 1+int(uint(limit)%300)
		if got := prose.Shorten(text, limit); prose.Width(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%q shortened to %d is %q", text, limit, got)
		}
	})
}

// A text loses its middle, but not the index of a group.
func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghij", 9, "abcd…ghij"},
		{"abcdefghij", 8, "abc…ghij"},
		{"abcdefghij", 2, "…j"},
		{"abcdefghij", 1, "…"},
		{"group[12]/task", 14, "group[12]/task"},
		{"group[12]/task", 13, "g…up[12]/task"},
		{"group[12]/task", 11, "g…p[12]/t…k"},
		{"group[12]/task", 10, "grou…/task"},
		{"g[12]/a-long-task", 13, "g[12]/a-l…ask"},
		{"a-long-group[12]/t", 14, "a-l…roup[12]/t"},
		{"group[x]/task", 12, "group…]/task"},
		{"group[12]task", 12, "group…2]task"},
	} {
		if got := prose.Shorten(c.text, c.limit); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
