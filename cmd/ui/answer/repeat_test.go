package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui"
)

// A table of very many tasks is cut, and says so.
func TestSpreadTable(t *testing.T) {
	t.Parallel()
	spreads := make([]compare.Spread, 62)
	for i := range spreads {
		spreads[i] = compare.Spread{Where: compare.Where{Group: "g", Task: fmt.Sprint("t", i)}, Times: []time.Duration{time.Second}}
	}
	streams, _, _ := ui.Test()
	style := streams.OutStyle(ui.ColorNever)
	for n, want := range map[int]string{60: "g[0]/t59       1s      1s   1s", 61: "and 1 task", 62: "and 2 tasks"} {
		lines := spreadTable(style, spreads[:n])
		if last := lines[len(lines)-1]; len(lines) != min(n+1, 62) || strings.TrimSpace(last) != want {
			t.Errorf("%d tasks: %d lines, the last is %q, want %q", n, len(lines), last, want)
		}
	}
}
