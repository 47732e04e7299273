package report

import (
	"strings"

	"taskrun/cmd/prose"
	"taskrun/jobspec/visible"
)

// markdown returns a line of text that means nothing else in Markdown.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range prose.OneLine(s) {
		if strings.ContainsRune("\\`*_[]<>|~&$!#@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code returns a line of text as a code span.
func code(s string) string {
	s = prose.OneLine(s)
	ticks := strings.Repeat("`", backticks(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s == "" {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// cell returns a line of text as a code span in a table, where a bar ends the cell
// even in code.
func cell(s string) string { return strings.ReplaceAll(code(s), "|", `\|`) }

// fenced returns lines of text as a code block that no text can end.
func fenced(s string) string {
	s = visible.Text(strings.TrimRight(s, "\n"))
	fence := strings.Repeat("`", max(3, backticks(s)+1))
	return fence + "text\n" + s + "\n" + fence + "\n"
}

// backticks returns the length of the longest run of backticks.
func backticks(s string) (longest int) {
	n := 0
	for _, r := range s {
		if r != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}
