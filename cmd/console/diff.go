package console

import (
	"strings"

	"taskrun/cmd/ui"
)

// PaintDiff paints the lines of a unified diff.
func PaintDiff(style *ui.Style, unified string) string {
	paint := func(line string) string {
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			return style.Strong(line)
		case strings.HasPrefix(line, "@@"):
			return style.Note(line)
		case strings.HasPrefix(line, "+"):
			return style.Good(line)
		case strings.HasPrefix(line, "-"):
			return style.Bad(line)
		}
		return style.Plain(line)
	}
	var out strings.Builder
	for line := range strings.Lines(unified) {
		out.WriteString(paint(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return out.String()
}
