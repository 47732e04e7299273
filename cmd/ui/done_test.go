package ui

import (
	"os"
	"strings"
	"testing"
)

// Orders that were carried out are lines, objects, or nothing.
func TestDone(t *testing.T) {
	t.Parallel()
	done := []Done{
		{Job: "web", Task: "server", Signal: "SIGHUP", Label: "server"},
		{Job: "web", Label: "web\x1b[31m"},
	}
	for mode, want := range map[Mode]string{Plain: "signaled server with SIGHUP\nsignaled web", Quiet: ""} {
		streams, out, _ := Test()
		if err := WriteDone(streams, mode, "signaled", done); err != nil {
			t.Error(err)
		}
		got := out.String()
		if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "\x1b") {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
	}
	streams, out, _ := Test()
	if err := WriteDone(streams, JSON, "signaled", done); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"type":"signaled"`) || !strings.Contains(lines[0], `"signal":"SIGHUP","target":"server"`) || strings.Contains(lines[1], "signal\":") {
		t.Errorf("JSON: %q", lines)
	}
}

// Only a terminal is one.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	streams, _, _ := Test()
	streams.InTerm = true
	if streams.NewTerminal() != nil {
		t.Error("what is no file is a terminal")
	}
	streams.In, streams.InTerm = os.Stdin, false
	if streams.NewTerminal() != nil {
		t.Error("a file that is no terminal is one")
	}
	streams.InTerm = true
	for outTerm, want := range map[bool]int{true: 2, false: 1} {
		streams.Out, streams.OutTerm = os.Stdout, outTerm
		if terminal := streams.NewTerminal(); terminal == nil || len(terminal.files) != want || terminal.in != os.Stdin {
			t.Errorf("the terminal is %+v", terminal)
		}
	}
}
