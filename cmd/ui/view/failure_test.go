package view

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

func TestLastScreenFitsIntoTwentyLines(t *testing.T) {
	t.Parallel()
	tasks := []*api.Task{hooked("first", "prestart", false)}
	for i := range 30 {
		tasks = append(tasks, task(fmt.Sprintf("task-with-a-long-name-%d", i)))
	}
	j := job("big", 1, tasks...)
	for _, columns := range []int{40, 80, 200} {
		s := newStage(t, columns, Options{Jobs: []*api.Job{j}})
		a := alloc("big", 0, "11111111")
		s.running(a, "first", 0)
		for i := range 100 {
			s.writes(a, "first", event.Stdout, fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 300)))
			s.happens(a, "first", event.Driver(strings.Repeat("a long message ", 20), nil))
		}
		s.happens(a, "first", event.DriverFailure(textError(strings.Repeat("it does not work ", 30))))
		s.dies(a, "first", 1, 0, "")
		s.happens(a, "first", event.DriverFailure(textError(strings.Repeat("it does not work ", 30))))
		s.say(a, "first", event.TaskState{State: "dead", Failed: true})
		for _, other := range tasks[1:] {
			s.say(a, other.Name, event.TaskState{State: "dead", Failed: true})
		}
		s.say(a, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: -1})
		s.ends(Result{ExitCode: 1})
		_, last, ok := strings.Cut(s.screen.String(), "✗ job big failed")
		if !ok {
			t.Fatalf("%d columns: no last screen:\n%s", columns, s.screen)
		}
		lines := strings.Split(strings.TrimSuffix(last, "\n"), "\n")
		if len(lines) > 20 {
			t.Errorf("%d columns: the last screen has %d lines", columns, len(lines))
		}
		for _, line := range lines[1:] {
			if n := len([]rune(line)); n > columns {
				t.Errorf("%d columns: a line has %d: %q", columns, n, line)
			}
		}
	}
}

func TestTextIsWrappedAtSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"short", []string{"short"}},
		{"one two three four", []string{"one two", "three four"}},
		{"one two three four five six", []string{"one two", "three fou…"}},
		{"0123456789012", []string{"0123456789", "012"}},
	} {
		if got := wrap(c.text, 10, 2); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

func TestTailsKeepNoMoreThanIsShown(t *testing.T) {
	t.Parallel()
	a, tails := alloc("j", 0, "11111111"), newTails()
	for range 10_000 {
		tails.add(a.ID, "t", []byte("a line of output\n"))
	}
	if n := cap(tails.byTask[tailKey{a.ID, "t"}]); n > 4*keptTail {
		t.Errorf("%d bytes of output are kept", n)
	}
}

// Wrapped text is no wider than the limit, and complete if there is room.
func FuzzWrap(f *testing.F) {
	f.Add("日本語サービス タスク", 12)
	f.Add("👩🏽e\u0301\u0301🇩🇪 a b", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text, limit = visible.String(text), 1+int(uint(limit)%300)
		for _, line := range wrap(text, limit, 3) {
			if prose.Width(line) > max(limit, 10) || !utf8.ValidString(line) {
				t.Errorf("%q wrapped at %d has %q", text, limit, line)
			}
		}
		if got := wrap(text, 20*len(text), 3); strings.Join(got, "") != text {
			t.Errorf("%q in one line: %q", text, got)
		}
	})
}
