package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// onlyA shows the task a.
func onlyA(_ *event.Alloc, task string) bool { return task == "a" }

// Of hidden tasks, only failures are shown, with their last output.
func TestHiddenTasks(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Shows: onlyA})
	for _, name := range []string{"a", "b"} {
		s.running(a, name, 0)
		s.writes(a, name, event.Stdout, name+" writes\n")
		s.say(a, name, event.Gap{Stream: event.Stdout, Bytes: 1})
	}
	s.dies(a, "a", 0, 0, "")
	s.say(a, "b", event.Output{Stream: event.Stdout, Source: brokenSource{"x"}, Length: 1})
	s.dies(a, "b", 1, 0, "no more")
	s.say(a, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: -1})
	s.ends(Result{ExitCode: 1})
	if got := s.out.String(); got != "a │ a writes\n" {
		t.Errorf("stdout %q", got)
	}
	want := []string{
		"  ▸ job j (batch): 2 tasks, 1 allocation",
		"a ● running",
		"a ▲ 1 bytes of stdout were left out here: the reader was too slow",
		"a ✓ dead, exit code 0",
		"b ▸ cannot read output: disk on fire",
		"b ! Not Restarting: no more",
		"b ✗ dead, exit code 1, failed",
		"  ✗ j.app[0] failed: Failed tasks",
		"",
		"TASK  STATE         EXIT  RESTARTS  DURATION",
		"a     dead             0         0      <1ms",
		"b     dead, failed     1         0      <1ms",
	}
	got := strings.Split(s.err.String(), "\n")
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(s.err.String(), "│ b writes") {
		t.Errorf("the last output is missing in %q", s.err)
	}
}

// The closing table counts hidden tasks, unless they failed.
func TestHiddenTasksInTheTable(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Shows: onlyA, Bare: true})
	s.dies(a, "a", 0, 0, "")
	s.dies(a, "b", 0, 0, "")
	s.ends(Result{})
	if got := s.err.String(); strings.Contains(got, "\nb ") || !strings.Contains(got, "\nand 1 task that did not fail, which --task or --group hides\n") {
		t.Errorf("%q", got)
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opts     Options
		out, err string
	}{
		{"task", Options{Prefix: ui.PrefixTask}, "a │ x\nb │ y\n", "a ● running\n"},
		{"alloc", Options{Prefix: ui.PrefixAlloc}, "11111111/a │ x\n11111111/b │ y\n", "11111111/a ● running\n"},
		{"none", Options{Prefix: ui.PrefixNone}, "x\ny\n", "a ● running\n"},
		{"quiet", Options{Mode: ui.Quiet}, "a │ x\nb │ y\n", ""},
		{"quiet none", Options{Mode: ui.Quiet, Prefix: ui.PrefixNone}, "x\ny\n", ""},
		{"quiet, one task", Options{Mode: ui.Quiet, Shows: onlyA}, "x", ""},
		{"quiet task, one task", Options{Mode: ui.Quiet, Shows: onlyA, Prefix: ui.PrefixTask}, "a │ x\n", ""},
	} {
		s, a := pair(t, 0, c.opts)
		s.running(a, "a", 0)
		s.writes(a, "a", event.Stdout, "x")
		s.dies(a, "a", 0, 0, "")
		s.writes(a, "b", event.Stdout, "y\n")
		s.shows()
		if got := s.out.String(); got != c.out {
			t.Errorf("%s: stdout %q, want %q", c.name, got, c.out)
		}
		if got := s.err.String(); !strings.HasPrefix(got, c.err) {
			t.Errorf("%s: stderr %q, want %q", c.name, got, c.err)
		}
	}
}
