package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/jobspec/visible"
)

// tab is the distance of tab stops.
const tab = 8

// clean returns a line of a task's output as text that cannot do anything to the
// terminal: without escape sequences, with visible control characters and blanks for
// tabs. Of a line that was overwritten with carriage returns, such as a progress bar,
// it is the last version.
func clean(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if strings.ContainsRune(line, ansi.ESC) || strings.ContainsRune(line, '\u009b') {
		line = ansi.Strip(line)
	}
	if !strings.ContainsRune(line, '\t') {
		return visible.String(line)
	}
	var b strings.Builder
	width := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tab - width%tab
			b.WriteString(strings.Repeat(" ", n))
			width += n
		}
		part = visible.String(part)
		b.WriteString(part)
		width += ansi.StringWidth(part)
	}
	return b.String()
}
