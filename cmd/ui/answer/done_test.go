package answer

import (
	"strings"
	"testing"

	"taskrun/cmd/ui"
)

// Executed orders are lines, objects, or nothing.
func TestDone(t *testing.T) {
	t.Parallel()
	done := []Done{
		{Origin: ui.Origin{Job: "web", Task: "server"}, Signal: "SIGHUP", Label: "server"},
		{Origin: ui.Origin{Job: "web"}, Label: "web\x1b[31m"},
	}
	for mode, want := range map[ui.Mode]string{ui.Plain: "signaled server with SIGHUP\nsignaled web", ui.Quiet: ""} {
		streams, out, _ := ui.Test()
		if err := WriteDone(To{streams, mode, ui.ColorNever, begin}, "signaled", done); err != nil {
			t.Error(err)
		}
		got := out.String()
		if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "\x1b") {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
	}
	streams, out, _ := ui.Test()
	if err := WriteDone(To{streams, ui.JSON, ui.ColorNever, begin}, "signaled", done); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"type":"signaled"`) || !strings.Contains(lines[0], `"signal":"SIGHUP","target":"server"`) || strings.Contains(lines[1], "signal\":") {
		t.Errorf("ui.JSON: %q", lines)
	}
}
