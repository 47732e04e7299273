package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// TestDownloadsOnATerminal shows downloads in one line below everything, which
// disappears when they are over and for any other output.
func TestDownloadsOnATerminal(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 79, Options{Time: ui.TimeNone})
	const mib = 1 << 20
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"nothing is known", func() { s.say(a, "a", event.Progress{What: "redis:7"}) }, "a ▸ redis:7 …\r"},
		{"no total", func() { s.say(a, "a", event.Progress{What: "redis:7", Done: mib}) }, eraseBelow + "a ▸ redis:7 1.0 MiB so far\r"},
		{"a part", func() {
			s.say(a, "a", event.Progress{What: "redis:7", Done: 3 * mib, Total: 10 * mib, Detail: "1 of 3 layers"})
		}, eraseBelow + "a ▸ redis:7 [" + "======" + strings.Repeat(" ", 17) + "] 3.0 MiB of 10.0 MiB, 30 %, 1 of 3 layers\r"},
		{"nothing new", func() {}, ""},
		{"output", func() { s.writes(a, "b", event.Stdout, "x\n") }, eraseBelow + "b │ x\n" + "a ▸ redis:7 [" + "======" + strings.Repeat(" ", 17) + "] 3.0 MiB of 10.0 MiB, 30 %, 1 of 3 layers\r"},
		{"another one", func() { s.say(a, "b", event.Progress{What: "https://x/y", Done: 4 * mib, Total: 4 * mib}) }, eraseBelow +
			"  ▸ 2 downloads [" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "] 7.0 MiB of 14.0 MiB, 50 %\r"},
		{"one is over", func() { s.say(a, "a", event.Progress{What: "redis:7", Over: true}) }, eraseBelow +
			"b ▸ https://x/y [" + strings.Repeat("=", 30) + "] unpacking 4.0 MiB\r"},
		{"a line that is open", func() { s.writes(a, "a", event.Stdout, "password: ") }, eraseBelow + "a │ password: "},
		{"it stays", func() { s.say(a, "b", event.Progress{What: "https://x/y", Done: mib}) }, ""},
		{"until its end", func() { s.writes(a, "a", event.Stdout, "x\n") }, "x\nb ▸ https://x/y 1.0 MiB so far\r"},
		{"the last word was lost", func() { s.happens(a, "b", event.Driver("still", nil), event.Started()) }, eraseBelow +
			"b · Driver: still\n"},
	} {
		s.screen.Reset()
		step.do()
		s.shows()
		if diff := cmp.Diff(step.want, s.screen.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	s.say(a, "a", event.Progress{What: "redis:7"})
	s.shows()
	s.screen.Reset()
	s.say(a, "a", event.Progress{What: "redis:7", Over: true})
	s.shows()
	if got := s.screen.String(); got != eraseBelow {
		t.Errorf("after the last one: %q", got)
	}
	s.say(a, "a", event.Progress{What: "redis:7"})
	s.shows()
	s.screen.Reset()
	s.ends(Result{})
	if got := s.screen.String(); !strings.HasPrefix(got, eraseBelow+"  ▸ job j") || strings.Contains(got, "redis") {
		t.Errorf("the end is %q", got)
	}
}

func TestDownloadsOfTasksFitInALine(t *testing.T) {
	t.Parallel()
	for columns, bar := range map[int]bool{100: true, 60: false, 30: false, minLine: false} {
		d := downloads{{Progress: event.Progress{What: "registry.example.com/team/shop:1", Done: 3 << 20, Total: 10 << 20}}}
		got := d.line(func(download) string { return "web" }, columns)
		if n := len([]rune(got)); n >= columns {
			t.Errorf("in %d columns it is %d wide: %q", columns, n, got)
		}
		if none := d.line(func(download) string { return "web" }, min(columns, minLine)-1); none != "" {
			t.Errorf("without room it is %q", none)
		}
		if !strings.HasPrefix(got, "web") || bar != strings.HasPrefix(got, "web ▸ registry.example.com/team/shop:1 [=========  ") {
			t.Errorf("in %d columns it is %q", columns, got)
		}
	}
}

// TestDownloadsInAPipe shows only the events and notices.
func TestDownloadsInAPipe(t *testing.T) {
	t.Parallel()
	for _, mode := range []ui.Mode{ui.Plain, ui.JSON, ui.Quiet} {
		s := newStage(t, 0, Options{Mode: mode, Jobs: []*api.Job{job("j", 1, task("a"))}, Bare: true})
		s.say(alloc("j", 0, "11111111"), "a", event.Progress{What: "redis:7", Done: 1})
		s.shows()
		if got := s.out.String() + s.err.String(); got != "" {
			t.Errorf("%s: it shows %q", mode, got)
		}
	}
}

// Two tasks may download the same thing, and a task several things.
func TestDownloadsAreToldApart(t *testing.T) {
	t.Parallel()
	one, two := &event.Alloc{ID: "1"}, &event.Alloc{ID: "2"}
	at := func(a *event.Alloc, task, what string, over bool) event.Event {
		return event.Event{Alloc: a, Task: task, Body: event.Progress{What: what, Over: over}}
	}
	var d downloads
	for _, e := range []event.Event{
		at(one, "a", "x", false), at(one, "a", "y", false), at(one, "b", "x", false), at(two, "a", "x", false), at(one, "a", "x", false),
	} {
		d.take(e)
	}
	if len(d) != 4 {
		t.Errorf("there are %d downloads: %v", len(d), d)
	}
	for i, e := range []event.Event{at(one, "a", "x", true), at(one, "b", "x", true), at(two, "a", "x", true), at(one, "a", "y", true)} {
		d.take(e)
		if len(d) != 3-i {
			t.Errorf("%d downloads are left after %d ends: %v", len(d), i+1, d)
		}
	}
}
