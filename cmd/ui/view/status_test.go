package view

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

func TestStatusText(t *testing.T) {
	t.Parallel()
	some := fold.Counts{Running: 187, Starting: 11, Failed: 2}
	for _, c := range []struct {
		counts  fold.Counts
		since   time.Duration
		columns int
		want    string
	}{
		{some, 72 * time.Second, 80, "▸ running 187, starting 11, failed 2, 1m12s"},
		{some, 72 * time.Second, 44, "▸ running 187, starting 11, failed 2, 1m12s"},
		{some, 72 * time.Second, 43, "●187 ○11 ✗2 1m12s"},
		{some, 72 * time.Second, 20, "●187 ○11 ✗2 1m12s"},
		{some, 72 * time.Second, 17, "●187 ○11 ✗2 1m12"},
		{some, 72 * time.Second, 1, ""},
		{fold.Counts{}, time.Second, 80, "▸ running 0, 1s"},
		{fold.Counts{Ended: 3}, 25*time.Hour + 90*time.Second, 80, "▸ running 0, ended 3, 25h1m"},
		{fold.Counts{Running: 1000, Starting: 1000, Ended: 1000, Failed: 1000}, time.Minute, 20, "●1000 ○1000 ■1000 ✗"},
	} {
		got := statusText(ui.NewStyle(false), c.counts, c.since, c.columns)
		if got != c.want || prose.Width(got) >= c.columns {
			t.Errorf("%+v in %d columns: %q, want %q", c.counts, c.columns, got, c.want)
		}
	}
	if got := statusText(ui.NewStyle(true), some, 0, 80); prose.Unstyled(got) != "▸ running 187, starting 11, failed 2, <1ms" || !strings.Contains(got, "\x1b[") {
		t.Errorf("in color: %q", got)
	}
}

// played is a display that runs in a bubble.
type played struct {
	*stage
	a     *event.Alloc
	ended chan struct{}
}

// play starts the display of a run whose first task runs.
func play(t *testing.T, opts Options, tasks ...*api.Task) *played {
	t.Helper()
	opts.Time, opts.Begin, opts.Jobs = ui.TimeNone, time.Now(), []*api.Job{job("j", 1, tasks...)}
	p := &played{newStage(t, 79, opts), alloc("j", 0, "11111111"), make(chan struct{})}
	p.running(p.a, "a", 0)
	return p
}

// begins shows the run until it ends.
func (p *played) begins() {
	go func() {
		defer close(p.ended)
		p.d.Run(p.t.Context(), p.sub)
	}()
}

// sees returns what is shown after a while.
func (p *played) sees(after time.Duration) string {
	p.now = p.now.Add(after)
	<-time.After(after)
	synctest.Wait()
	return p.window.next()
}

func (p *played) leave() {
	p.bus.Close()
	<-p.ended
}

// The status appears after a second, follows what happens, and makes room for
// everything else.
func TestStatusOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, Options{}, task("a"), task("b"))
		p.begins()
		for _, step := range []struct {
			name  string
			do    func()
			after time.Duration
			want  string
		}{
			{"at first", func() {}, statusDelay - 1, "  ▸ job j (batch): 2 tasks, 1 allocation\na ● running\n"},
			{"after a second", func() {}, 1, "▸ running 1, starting 1, 1s\r"},
			{"a second later", func() {}, time.Second, eraseBelow + "▸ running 1, starting 1, 2s\r"},
			{"nothing new", func() {}, time.Second - 1, ""},
			{"the next second", func() {}, 1, eraseBelow + "▸ running 1, starting 1, 3s\r"},
			{"output", func() { p.writes(p.a, "a", event.Stdout, "x\n") }, 1, eraseBelow + "a │ x\n▸ running 1, starting 1, 3s\r"},
			{"an event", func() { p.running(p.a, "b", 0) }, 1, eraseBelow + "b ● running\n▸ running 1, starting 1, 3s\r"},
			{"its effect", func() {}, statusRate, eraseBelow + "▸ running 2, 3s\r"},
			{"an unfinished line", func() { p.writes(p.a, "a", event.Stdout, "password: ") }, time.Minute, eraseBelow + "a │ password: "},
			{"its end", func() { p.writes(p.a, "a", event.Stdout, "x\n") }, 0, "x\n▸ running 2, 1m3s\r"},
			{"a message", func() { p.d.Say("well") }, 0, eraseBelow + "▸ well\n"},
			{"after the message", func() {}, time.Second, "▸ running 2, 1m4s\r"},
			{"a question", func() { p.d.HideLine() }, time.Minute, eraseBelow},
			{"the answer", func() { p.d.ShowLine() }, time.Second, "▸ running 2, 2m5s\r"},
			{"a reminder", func() { p.bus.Publish(nil, "", event.Notice{Text: "wrong", Unfixed: "1 error in a.hcl"}) }, time.Second, eraseBelow + "  ▸ wrong\n1 error in a.hcl  ▸ running 2, 2m5s\r" + eraseBelow + "1 error in a.hcl  ▸ running 2, 2m6s\r"},
			{"without its reason", func() { p.bus.Publish(nil, "", event.Notice{Text: "well", Fixed: true}) }, time.Second, eraseBelow + "  ▸ well\n▸ running 2, 2m6s\r" + eraseBelow + "▸ running 2, 2m7s\r"},
			{"the end", func() { p.bus.Close() }, 0, eraseBelow},
		} {
			step.do()
			if got := p.sees(step.after); got != step.want {
				t.Errorf("%s: %q, want %q", step.name, got, step.want)
			}
		}
		p.leave()
	})
}

// There is no status in a file, in a pipe, on a terminal that cannot erase it, in
// another mode, in virtual time, and of a single task.
func TestNoStatus(t *testing.T) {
	t.Parallel()
	two := []*api.Task{task("a"), task("b")}
	for name, c := range map[string]struct {
		opts   Options
		tasks  []*api.Task
		change func(*ui.Streams)
	}{
		"stderr is a file": {Options{}, two, func(s *ui.Streams) { s.ErrTerm = false }},
		"stdout is a pipe": {Options{}, two, func(s *ui.Streams) { s.OutTerm = false }},
		"no cursor":        {Options{}, two, func(s *ui.Streams) { s.Env = func(string) string { return "dumb" } }},
		"quiet":            {Options{Mode: ui.Quiet}, two, func(*ui.Streams) {}},
		"JSON":             {Options{Mode: ui.JSON}, two, func(*ui.Streams) {}},
		"virtual time":     {Options{Virtual: true}, two, func(*ui.Streams) {}},
		"only events":      {Options{Bare: true}, two, func(*ui.Streams) {}},
		"one task":         {Options{}, two[:1], func(*ui.Streams) {}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := play(t, c.opts, c.tasks...)
			c.change(p.d.streams)
			p.begins()
			if got := p.sees(time.Minute); strings.Contains(got, "running 1") || strings.Contains(got, eraseBelow) {
				t.Errorf("%s: %q", name, got)
			}
			p.leave()
		})
	}
}
