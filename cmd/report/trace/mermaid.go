package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"taskrun/jobspec/visible"
)

// maxBars limits the bars of a diagram: Mermaid refuses texts of more than 50000
// characters.
const (
	maxBars  = 400
	maxLabel = 60 // characters
)

// tags are the styles of the kinds of spans.
var tags = map[Kind]string{Waiting: "done, ", Setup: "active, ", Restarting: "done, ", Stopping: "active, "}

// Mermaid writes a trace as a Gantt diagram of Mermaid, with a section for each task; see
// https://mermaid.js.org/syntax/gantt.html. The first bars count if there are too many.
func Mermaid(w io.Writer, t *Trace) error {
	to := bufio.NewWriter(w)
	format := "%H:%M:%S"
	switch took := t.End.Sub(t.Begin); {
	case took < 10*time.Second:
		format = "%S.%L"
	case took >= 48*time.Hour:
		format = "%m-%d %H:%M"
	}
	fmt.Fprintf(to, "gantt\n    title %s\n    dateFormat x\n    axisFormat %s\n", mermaidText(strings.Join(t.Jobs, ", ")+" "+t.Status), format)
	bars, left := 0, 0
	for _, r := range t.Rows {
		if bars+len(r.Spans) > maxBars {
			left++
			continue
		}
		bars += len(r.Spans)
		if len(r.Spans) > 0 {
			fmt.Fprintf(to, "    section %s\n", mermaidText(r.Name))
		}
		for i, s := range r.Spans {
			text, tag := s.Kind.String(), tags[s.Kind]
			if s.For != "" {
				text += " for " + s.For
			}
			if s.Count > 1 {
				text = fmt.Sprintf("%d attempts", s.Count)
			}
			if s.Kind == Running && r.Failed && i == len(r.Spans)-1 {
				tag = "crit, "
			}
			from := s.From.UnixMilli()
			fmt.Fprintf(to, "    %s :%s%d, %d\n", mermaidText(text), tag, from, max(from+1, s.To.UnixMilli()))
		}
	}
	if left > 0 {
		fmt.Fprintf(to, "    %%%% tasks that are left out, because there are too many: %d\n", left)
	}
	return to.Flush()
}

// mermaidText returns a text for a title, a section or a bar, in which no character has
// a meaning for Mermaid. Those that have one become their fullwidth forms, because Gantt
// diagrams show entity codes as they are.
func mermaidText(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range visible.String(text) {
		if n == maxLabel {
			b.WriteString("…")
			break
		}
		n++
		if strings.ContainsRune(":;#%<>&\"`{}", r) {
			r += '！' - '!'
		}
		b.WriteRune(r)
	}
	if n == 0 {
		return "-"
	}
	return b.String()
}
