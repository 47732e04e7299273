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

// A cleanup reports what it has removed, with sizes in MiB.
func TestFreed(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Freed{
		"freed 0.0 MiB\n":                            {},
		"freed 1.5 MiB\n":                            {Bytes: 3 << 19},
		"freed 2.0 MiB and removed 1 container\n":    {Bytes: 2 << 20, Containers: 1},
		"freed 2.0 MiB and removed 3 containers\n":   {Bytes: 2 << 20, Containers: 3},
		"freed 1.0 MiB; left alone: 1 running job\n": {Bytes: 1 << 20, Live: 1},
	} {
		streams, out, _ := ui.Test()
		if err := WriteFreed(To{streams, ui.Plain, ui.ColorNever, begin}, f); err != nil || out.String() != want {
			t.Errorf("%+v: %q, want %q; %v", f, out, want, err)
		}
	}
	streams, out, _ := ui.Test()
	f := Freed{Bytes: 7, Containers: 2, Live: 1}
	if err := WriteFreed(To{streams, ui.Quiet, ui.ColorNever, begin}, f); err != nil || out.Len() > 0 {
		t.Errorf("quiet: %q, %v", out, err)
	}
	if err := WriteFreed(To{streams, ui.JSON, ui.ColorNever, begin}, f); err != nil {
		t.Error(err)
	}
	want := `{"type":"cleaned","time":"2026-03-14T12:00:00Z","freed_bytes":7,"removed_containers":2,"live_jobs":1}`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("ui.JSON: %s", got)
	}
}
