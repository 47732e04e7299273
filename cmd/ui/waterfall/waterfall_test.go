package waterfall

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return begin.Add(d) }

func span(kind trace.Kind, from, to time.Duration) trace.Span {
	return trace.Span{Kind: kind, From: at(from), To: at(to), Count: 1}
}

func step(r *trace.Row, kind trace.Kind, from, to, length time.Duration) trace.Step {
	return trace.Step{Row: r, Kind: kind, From: at(from), To: at(to), Count: 1, Share: float64(to-from) / float64(length)}
}

const ms = time.Millisecond

// hello is the trace of the job of the same name.
func hello() *trace.Trace {
	migrate := &trace.Row{Name: "migrate", State: "dead", ExitCode: new(0), Spans: []trace.Span{
		span(trace.Setup, 0, 4*ms), span(trace.Running, 4*ms, 30*ms),
	}}
	watch := &trace.Row{Name: "watch", State: "dead", ExitCode: new(130), Spans: []trace.Span{
		span(trace.Setup, 0, 4*ms), span(trace.Running, 4*ms, 2034*ms), span(trace.Stopping, 2034*ms, 3000*ms),
	}}
	web := &trace.Row{Name: "web", State: "dead", ExitCode: new(0), Spans: []trace.Span{
		span(trace.Waiting, 0, 30*ms), span(trace.Setup, 30*ms, 33*ms), span(trace.Running, 33*ms, 2034*ms),
	}}
	web.Spans[0].For, web.Spans[0].After = "the end of migrate", migrate
	watch.Spans[2].After = web
	clean := &trace.Row{Name: "clean-up", State: "dead", ExitCode: new(0), Spans: []trace.Span{
		span(trace.Waiting, 0, 3000*ms), span(trace.Setup, 3000*ms, 3002*ms), span(trace.Running, 3002*ms, 3010*ms),
	}}
	clean.Spans[0].For, clean.Spans[0].After = "the end of watch", watch
	length := 3010 * ms
	return &trace.Trace{
		Jobs: []string{"hello"}, Begin: begin, End: at(length), Status: "complete",
		Rows: []*trace.Row{migrate, watch, web, clean}, Length: length,
		Critical: []trace.Step{
			step(migrate, trace.Setup, 0, 4*ms, length), step(migrate, trace.Running, 4*ms, 30*ms, length),
			step(web, trace.Setup, 30*ms, 33*ms, length), step(web, trace.Running, 33*ms, 2034*ms, length),
			step(watch, trace.Stopping, 2034*ms, 3000*ms, length), step(clean, trace.Setup, 3000*ms, 3002*ms, length),
			step(clean, trace.Running, 3002*ms, 3010*ms, length),
		},
	}
}

// trouble is the trace of a live service with restarts, a failing check, a merged
// span and hostile names.
func trouble() *trace.Trace {
	const h = time.Hour
	r := &trace.Row{Name: "api[0]/serv\x1b[31mer", State: "running", Restarts: 412, Spans: []trace.Span{
		span(trace.Setup, 0, h), span(trace.Running, h, 5*h), span(trace.Restarting, 5*h, 7*h),
		span(trace.Running, 7*h, 20*h), span(trace.Restarting, 20*h, 21*h), span(trace.Running, 21*h, 50*h),
	}}
	r.Spans[3].Count, r.Spans[5].Open = 410, true
	r.Marks = []trace.Mark{
		{Time: at(2 * h), Kind: trace.Service, Title: "service web registered", Detail: "127.0.0.1:80"},
		{Time: at(5 * h), Kind: trace.TaskEvent, Title: "Terminated", Detail: "Exit Code: 1", Weight: fold.Trouble, Routine: true},
		{Time: at(23 * h), Kind: trace.Check, Title: "check alive: failure", Detail: "connection\nrefused by 🦀 \x07", Weight: fold.Trouble},
		{Time: at(30 * h), Kind: trace.Check, Title: "check alive: success", Good: true},
		{Time: at(33 * h), Kind: trace.TaskEvent, Title: "Signaling"},
		{Time: at(40 * h), Kind: trace.Health, Title: "healthy", Good: true},
	}
	wide := &trace.Row{Name: "api[1]/世界世界世界世界世界世界世界世界", State: "pending", Spans: []trace.Span{span(trace.Waiting, 10*h, 50*h)}}
	wide.Spans[0].Open, wide.Spans[0].For = true, "the end of 世界, 🦀"
	never := &trace.Row{Name: "api[2]/never", State: "dead", Failed: true, Spans: []trace.Span{span(trace.Setup, 0, 0)}}
	length := 40 * h
	return &trace.Trace{
		Jobs: []string{"a-job-with-a-name-that-is-much-longer-than-others", "b"}, Begin: begin, End: at(50 * h), Live: true, Status: "running",
		Rows: []*trace.Row{r, wide, never}, Length: length, Omitted: 1234,
		Marks: []trace.Mark{
			{Time: begin, Kind: trace.Registration, Title: "version 0"},
			{Time: at(20 * h), Kind: trace.Registration, Title: "version 1"},
			{Time: at(20 * h), Kind: trace.Deployment, Title: "deployment running"},
			{Time: at(30 * h), Kind: trace.Deployment, Title: "deployment failed", Weight: fold.Trouble, Detail: "Failed due to progress deadline"},
		},
		Critical: []trace.Step{step(nil, trace.Waiting, 0, h, length), {Row: r, Kind: trace.Running, From: at(h), To: at(40 * h), Count: 411, Share: 39. / 40}},
	}
}

// killed is the trace of a run that was killed with everything.
func killed() *trace.Trace {
	r := &trace.Row{Name: "web", State: "running", Spans: []trace.Span{span(trace.Setup, 0, ms), span(trace.Running, ms, 5*ms)}}
	r.Spans[1].Open = true
	return &trace.Trace{Jobs: []string{"web"}, Begin: begin, End: at(5 * ms), Status: "lost", Rows: []*trace.Row{r}}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]*trace.Trace{"hello": hello(), "trouble": trouble(), "killed": killed(), "nothing": {}} {
		for _, width := range []int{40, 80, 200} {
			for _, ascii := range []bool{false, true} {
				file := fmt.Sprintf("%s-%d.txt", name, width)
				if ascii {
					file = "ascii-" + file
				}
				t.Run(file, func(t *testing.T) {
					t.Parallel()
					lines := Lines(tr, Options{Width: width, Style: ui.NewStyle(false), ASCII: ascii})
					for _, line := range lines {
						if w := prose.Width(line); w > width {
							t.Errorf("%d columns: %s", w, line)
						}
						if strings.ContainsAny(line, "\x1b\a\n") {
							t.Errorf("control characters: %q", line)
						}
					}
					golden(t, file, strings.Join(lines, "\n")+"\n")
				})
			}
		}
	}
}

// The picture is not higher than the terminal: it shows the latest rows.
func TestHeight(t *testing.T) {
	t.Parallel()
	tr := &trace.Trace{Begin: begin, End: at(time.Second), Live: true}
	for i := range 200 {
		r := &trace.Row{Name: fmt.Sprintf("web[%d]", i), State: "dead"}
		if i%50 == 0 {
			r.State = "running"
		}
		tr.Rows = append(tr.Rows, r)
	}
	lines := Lines(tr, Options{Width: 80, Height: 24, Style: ui.NewStyle(false)})
	text := strings.Join(lines, "\n")
	if len(lines) > 24 || strings.Count(text, "running") < 4 || !strings.Contains(text, "web[199]") || !strings.Contains(text, "more") {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
}

// The events of a run may contain unknown states.
func TestHostileStates(t *testing.T) {
	t.Parallel()
	const hostile = "a\nb\x1b[2J\u202e世"
	tr := &trace.Trace{Begin: begin, End: at(time.Second), Live: true, Status: hostile, Rows: []*trace.Row{{Name: "web", State: hostile}}}
	for _, line := range Lines(tr, Options{Width: 80, Style: ui.NewStyle(false)}) {
		if w := prose.Width(line); w > 80 || strings.ContainsAny(line, "\n\x1b\u202e") {
			t.Errorf("%d columns: %q", w, line)
		}
	}
}

// Colors change nothing but colors.
func TestColors(t *testing.T) {
	t.Parallel()
	plain := Lines(trouble(), Options{Width: 80, Style: ui.NewStyle(false)})
	colored := Lines(trouble(), Options{Width: 80, Style: ui.NewStyle(true)})
	for i := range plain {
		if strip(colored[i]) != plain[i] {
			t.Errorf("%q\nwithout colors %q", colored[i], plain[i])
		}
	}
	if strings.Join(plain, "") == strings.Join(colored, "") {
		t.Error("there are no colors")
	}
}

func strip(line string) string {
	for {
		begin := strings.Index(line, "\x1b[")
		if begin < 0 {
			return line
		}
		end := strings.IndexByte(line[begin:], 'm')
		line = line[:begin] + line[begin+end+1:]
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		total time.Duration
		bar   int
		want  string
	}{
		{3 * time.Second, 50, "╷0      ╷500ms  ╷1s      ╷1.5s   ╷2s     ╷2.5s"},
		{300 * time.Microsecond, 50, "╷0              ╷100µs          ╷200µs"},
		{70 * time.Second, 50, "╷0        ╷15s       ╷30s       ╷45s      ╷1m"},
		{50 * time.Hour, 60, "╷0            ╷12h          ╷1d            ╷1d12h        ╷2d"},
		{24 * 400 * time.Hour, 60, "╷0             ╷100d          ╷200d          ╷300d"},
		{1<<63 - 1, 60, "╷0         ╷20000d    ╷40000d    ╷60000d    ╷80000d"},
		{1, 60, "╷0"},
		{0, 20, ""},
	} {
		p := newPicture(&trace.Trace{Begin: begin, End: begin.Add(tt.total)}, Options{Width: tt.bar + 20, Style: ui.NewStyle(false)})
		got := strings.TrimPrefix(strings.TrimSuffix(p.axis(), "TIME  RESULT"), "TASK")
		got = strings.TrimSpace(got)
		if got != tt.want {
			t.Errorf("%v:\n%s\nwant\n%s", tt.total, got, tt.want)
		}
	}
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
	}
}

// The bars of the last part have nothing from before, and count back from the end.
func TestLast(t *testing.T) {
	t.Parallel()
	tr := trouble()
	golden(t, "last-80.txt", strings.Join(Lines(tr, Options{Width: 80, Style: ui.NewStyle(false), Last: 25 * time.Hour}), "\n")+"\n")
	whole := Lines(tr, Options{Width: 80, Style: ui.NewStyle(false)})
	if more := Lines(tr, Options{Width: 80, Style: ui.NewStyle(false), Last: 1000 * time.Hour}); !slices.Equal(more, whole) {
		t.Errorf("more than there is:\n%s", strings.Join(more, "\n"))
	}
}

// Only important marks are drawn: failures, and those that change the course of the
// run.
func TestGlyphsOfMarks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mark  trace.Mark
		want  glyph
		color string
	}{
		{trace.Mark{Kind: trace.Check, Weight: fold.Trouble}, failedCheck, "bad"},
		{trace.Mark{Kind: trace.Check, Good: true}, passed, "good"},
		{trace.Mark{Kind: trace.Check}, blank, "plain"},
		{trace.Mark{Kind: trace.Deployment, Weight: fold.Trouble}, failed, "bad"},
		{trace.Mark{Kind: trace.Deployment}, deployed, "note"},
		{trace.Mark{Kind: trace.Evaluation, Weight: fold.Trouble}, blank, "plain"},
		{trace.Mark{Kind: trace.Registration}, registered, "note"},
		{trace.Mark{Kind: trace.Service}, offered, "note"},
		{trace.Mark{Kind: trace.Health}, healthy, "good"},
		{trace.Mark{Kind: trace.Health, Weight: fold.Trouble}, failed, "bad"},
		{trace.Mark{Kind: trace.AllocStatus}, blank, "plain"},
		{trace.Mark{Kind: trace.AllocStatus, Weight: fold.Trouble}, failed, "bad"},
		{trace.Mark{Kind: trace.TaskEvent, Routine: true}, blank, "plain"},
		{trace.Mark{Kind: trace.TaskEvent}, evented, "note"},
		{trace.Mark{Kind: trace.Notice}, evented, "note"},
	} {
		style := ui.NewStyle(true)
		p := newPicture(&trace.Trace{Begin: begin, End: begin.Add(time.Second)}, Options{Width: 80, Style: style})
		want := map[string]func(string) string{"bad": style.Bad, "good": style.Good, "note": style.Note, "plain": style.Plain}[tt.color]("x")
		if got := ofMark(tt.mark); got != tt.want || p.paint(got)("x") != want {
			t.Errorf("%+v: %v as %q, want %v as %q", tt.mark, got, p.paint(got)("x"), tt.want, want)
		}
	}
	if got := ofSpan(trace.Span{Kind: trace.Running, Count: 1}); got != running {
		t.Errorf("an attempt is %v", got)
	}
	if got := ofSpan(trace.Span{Kind: trace.Running, Count: 2}); got != merged {
		t.Errorf("two attempts are %v", got)
	}
}
