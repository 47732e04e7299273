package ui

import (
	"slices"
	"testing"

	"taskrun/cmd/prose"
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
