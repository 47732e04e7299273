package view

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// Each event of tasks, allocations, services and deployments is one line, or
// none if another line says the same.
func TestEventsAsLines(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		name string
		task string
		body event.Body
		want string
	}{
		{"healthy", "", event.AllocHealth{Healthy: true}, "  ✓ j.app[0] is healthy\n"},
		{"unhealthy", "", event.AllocHealth{}, "  ✗ j.app[0] is not healthy\n"},
		{"deployment begins", "", event.Deployment{Job: "j", Status: "running", Description: "Deployment is running"}, ""},
		{"deployment waits", "", event.Deployment{Job: "j", Status: "running", Description: "needs \x1bpromotion", Canarying: true}, "  ○ job j: needs \\x1bpromotion\n"},
		{"deployment is done", "", event.Deployment{Job: "j\x1b", Status: "successful", Description: "done"}, "  ✓ job j\\x1b: done\n"},
		{"deployment failed", "", event.Deployment{Job: "j", Status: "failed", Description: "too late"}, "  ✗ job j: the deployment has failed: too late\n"},
		{"deployment is replaced", "", event.Deployment{Job: "j", Status: "cancelled", Description: "newer"}, ""},
		{"service", "", event.Service{Name: "web", Address: "127.0.0.1", Port: 80, Registered: true}, "  ▸ j.app[0]: service web at 127.0.0.1:80\n"},
		{"service on IPv6", "", event.Service{Name: "web", Address: "::1", Port: 80, Registered: true}, "  ▸ j.app[0]: service web at [::1]:80\n"},
		{"service without a port", "", event.Service{Name: "w\x1b", Address: "10.0.0.1", Registered: true}, "  ▸ j.app[0]: service w\\x1b at 10.0.0.1\n"},
		{"service without an address", "", event.Service{Name: "web", Port: 80, Registered: true}, ""},
		{"service ends", "", event.Service{Name: "web", Address: "127.0.0.1", Port: 80}, ""},
		{"check passes", "", event.Check{Check: "ping", Status: "success"}, "  ✓ j.app[0]: check \"ping\" passes\n"},
		{"check fails", "", event.Check{Check: "ping", Status: "failure", Output: "no\n answer"}, "  ! j.app[0]: check \"ping\" fails: no answer\n"},
		{"check waits", "", event.Check{Check: "ping", Status: "pending"}, ""},
		{"notice", "", event.Notice{Text: "by the way"}, "  ▸ by the way\n"},
		{"notice of a task", "a", event.Notice{Text: "by the way"}, "a ▸ by the way\n"},
		{"task runs", "a", event.TaskState{State: "running"}, "a ● running\n"},
		{"task waits", "a", event.TaskState{State: "pending"}, "a ○ pending\n"},
		{"task never ran", "a", event.TaskState{State: "dead"}, "a ■ dead, never started\n"},
		{"task never ran and failed", "a", event.TaskState{State: "dead", Failed: true}, "a ✗ dead, never started, failed\n"},
		{"task is done", "a", event.TaskState{State: "dead", ExitCode: code(0)}, "a ✓ dead, exit code 0\n"},
		{"task was stopped", "a", event.TaskState{State: "dead", ExitCode: code(143)}, "a ■ dead, exit code 143\n"},
		{"task failed", "a", event.TaskState{State: "dead", Failed: true, ExitCode: code(0)}, "a ✗ dead, exit code 0, failed\n"},
		{"alloc waits", "", event.AllocStatus{Status: "pending"}, ""},
		{"alloc runs", "", event.AllocStatus{Status: "running"}, ""},
		{"alloc is done", "", event.AllocStatus{Status: "complete", Description: "fine"}, "  ✓ j.app[0] complete: fine\n"},
		{"alloc failed for good", "", event.AllocStatus{Status: "failed", Description: "bad", Retry: -1}, "  ✗ j.app[0] failed: bad\n"},
		{"alloc failed", "", event.AllocStatus{Status: "failed", Description: "bad"}, "  ✗ j.app[0] failed: bad; it is replaced in 0s\n"},
		{"alloc is lost", "", event.AllocStatus{Status: "lost", Description: "node is down"}, "  ✗ j.app[0] is lost: node is down\n"},
		{"alloc is out of reach", "", event.AllocStatus{Status: "unknown", Description: "no word"}, "  ? j.app[0] is out of reach: no word\n"},
		{"task is received", "a", event.TaskEvent{TaskEvent: event.Received()}, "a · Received: Task received by client\n"},
		{"task restarts", "a", event.TaskEvent{TaskEvent: event.Restarting(time.Second, "why", true)}, "a ↻ Restarting: Task restarting in 1s\n"},
		{"sibling failed", "a", event.TaskEvent{TaskEvent: event.SiblingFailed("b")}, "a ! Sibling Task Failed: Task's sibling \"b\" failed\n"},
		{"download", "a", event.Progress{What: "x", Done: 1, Total: 2}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, a := pair(t, 0, Options{})
			s.say(a, c.task, c.body)
			s.shows()
			if got := s.err.String(); got != c.want || s.out.Len() > 0 {
				t.Errorf("shown %q and %q, want %q", got, s.out, c.want)
			}
		})
	}
}

// If an event and a state say the same, only the state has a line, with the
// details of the event.
func TestStateRepeatsEvent(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	happens := func(e *api.TaskEvent) event.Body { return event.TaskEvent{TaskEvent: e} }
	for name, c := range map[string]struct {
		bodies []event.Body
		want   string
	}{
		"a start":            {[]event.Body{happens(event.Started()), event.TaskState{State: "running"}}, "a ● running\n"},
		"an end":             {[]event.Body{happens(event.Terminated(0, 0, false, nil)), event.TaskState{State: "dead", ExitCode: code(0)}}, "a ✓ dead, exit code 0\n"},
		"a restart":          {[]event.Body{happens(event.Terminated(3, 0, false, nil)), happens(event.Restarting(time.Second, "", true)), event.TaskState{State: "pending"}}, "a ↻ Restarting: Task restarting in 1s (exit code 3)\n"},
		"a failure":          {[]event.Body{happens(event.Terminated(137, 9, true, errors.New("odd"))), event.TaskState{State: "dead", Failed: true, ExitCode: code(137)}}, "a ✗ dead, exit code 137, signal 9, out of memory, odd, failed\n"},
		"a stop":             {[]event.Body{happens(event.Started()), happens(event.Killing(time.Second)), happens(event.Terminated(0, 0, false, nil)), happens(event.Killed(nil)), event.TaskState{State: "dead", ExitCode: code(0)}}, "a · Killing: Sent interrupt. Waiting 1s before force killing\na ■ dead, exit code 0\n"},
		"a stop that failed": {[]event.Body{happens(event.Killed(errors.New("no"))), event.TaskState{State: "dead"}}, "a · Killed: no\na ■ dead, never started\n"},
	} {
		s, a := pair(t, 0, Options{Time: ui.TimeNone})
		for _, body := range c.bodies {
			s.say(a, "a", body)
		}
		s.shows()
		if got := s.err.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// An allocation that was stopped is not complete.
func TestStoppedAllocation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []*api.TaskEvent
		want   string
	}{
		"by itself":      {[]*api.TaskEvent{event.Started()}, "  ✓ j.app[0] complete: fine\n"},
		"stopped":        {[]*api.TaskEvent{event.Started(), event.Killing(0)}, "  ■ j.app[0] stopped\n"},
		"its leader":     {[]*api.TaskEvent{event.Started(), event.LeaderDead(), event.Killing(0)}, "  ✓ j.app[0] complete: fine\n"},
		"its main tasks": {[]*api.TaskEvent{event.Started(), event.MainTasksDead(), event.Killing(0)}, "  ✓ j.app[0] complete: fine\n"},
		"started again":  {[]*api.TaskEvent{event.Started(), event.Killing(0), event.Started()}, "  ✓ j.app[0] complete: fine\n"},
		"not yet begun":  {[]*api.TaskEvent{event.Received(), event.Killing(0)}, "  ■ j.app[0] stopped\n"},
	} {
		s, a := pair(t, 0, Options{Time: ui.TimeNone})
		s.happens(a, "a", c.events...)
		s.shows()
		s.err.Reset()
		s.say(a, "", event.AllocStatus{Status: "complete", Description: "fine", Retry: -1})
		s.shows()
		if got := s.err.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A message comes after the event that led to it, however late the display is.
func TestSayAfter(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, Options{Time: ui.TimeNone, Bare: true})
	s.say(nil, "", event.Notice{Text: "cause"})
	s.say(nil, "", event.Notice{Text: "later"})
	s.d.SayAfter(1, "effect")
	s.d.SayAfter(1, "another")
	s.d.SayAfter(3, "never shown")
	s.bus.Close()
	s.d.Run(t.Context(), s.sub)
	s.d.SayAfter(2, "at once")
	if got, want := s.err.String(), " ▸ cause\n▸ effect\n▸ another\n ▸ later\n▸ never shown\n▸ at once\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An exit code is shown as a failure unless the task was told to stop.
func TestExitCodeOfAStoppedTaskIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events []*api.TaskEvent
		mark   string
	}{
		{"by itself", []*api.TaskEvent{event.Started()}, "!"},
		{"killed", []*api.TaskEvent{event.Started(), event.Killing(time.Second)}, "·"},
		{"killed before its restart", []*api.TaskEvent{event.Started(), event.Killing(time.Second), event.Started()}, "!"},
	} {
		for _, end := range []*api.TaskEvent{event.Terminated(1, 0, false, nil), event.Terminated(0, 9, false, nil)} {
			s, a := pair(t, 0, Options{Verbose: true})
			s.happens(a, "a", append(c.events, end)...)
			s.shows()
			lines := strings.Split(strings.TrimSpace(s.err.String()), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "a "+c.mark+" Terminated") {
				t.Errorf("%s: %q, want %s", c.name, last, c.mark)
			}
		}
	}
}

// A replacement is reported once, before any event of its tasks.
func TestReplacement(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"failed": "  ↻ j.app[0] runs again, in place of the failed one\n",
		"lost":   "  ↻ j.app[0] runs in place of the one before\n",
	} {
		s, a := pair(t, 0, Options{})
		b := alloc("j", 0, "22222222")
		s.say(a, "", event.AllocStatus{Status: status, Retry: -1})
		s.shows()
		s.err.Reset()
		s.say(b, "", event.AllocStatus{Status: "pending", Replaces: a.ID, Retry: -1})
		s.shows()
		if got := s.err.String(); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		s.happens(b, "a", event.Received())
		s.shows()
		s.err.Reset()
		s.say(b, "", event.AllocStatus{Status: "pending", Replaces: a.ID, Retry: -1})
		s.shows()
		if got := s.err.String(); got != "" {
			t.Errorf("%s: said again: %q", status, got)
		}
	}
}

// The beginning of a run in a cluster has the address, and the number of its
// tasks.
func TestBeginning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{}, "    ▸ job j (batch): 1 task, 1 allocation\n"},
		{Options{Address: "http://c\x1b"}, "    ▸ job j (batch) in http://c\\x1b: 1 task, 1 allocation\n"},
		{Options{Said: "it goes on"}, "    ▸ job j (batch): 1 task, 1 allocation\n▸ it goes on\n"},
		{Options{Bare: true}, ""},
		{Options{Mode: ui.Quiet, Said: "it goes on"}, "▸ it goes on\n"},
	} {
		c.opts.Time, c.opts.Jobs = ui.TimeNone, []*api.Job{job("j", 1, task("web"))}
		s := newStage(t, 0, c.opts)
		s.bus.Close()
		s.d.Run(t.Context(), s.sub)
		if got := s.err.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The past is known, but not shown.
func TestPastIsKnown(t *testing.T) {
	t.Parallel()
	a, code := alloc("j", 0, "11111111"), 3
	s, _ := pair(t, 0, Options{Past: []event.Event{
		{Time: begin, Alloc: a, Task: "a", Body: event.TaskState{State: "dead", Failed: true, ExitCode: &code}},
		{Time: begin, Alloc: a, Body: event.AllocStatus{Status: "failed", Retry: -1}},
	}})
	s.ends(Result{ExitCode: 1})
	if got := s.err.String(); strings.Contains(got, "a ✗ dead") || !strings.Contains(got, "a     dead, failed     3") || !strings.Contains(got, "✗ job j failed") {
		t.Errorf("shown %q", got)
	}
}

// Every mode shows notices.
func TestNotices(t *testing.T) {
	t.Parallel()
	for mode, want := range map[ui.Mode]string{
		ui.Quiet: "▸ odd\\x1b\n",
		ui.JSON: `{"type":"diagnostic","time":"2026-03-14T12:00:00Z","job":"j","group":"app","alloc":"j.app[0]",` +
			`"alloc_id":"11111111-0000-0000-0000-000000000000","task":"a","severity":"warning","summary":"odd\u001b","detail":"","file":"","line":0,"column":0}` + "\n" +
			`{"type":"diagnostic","time":"2026-03-14T12:00:00Z","job":"j","group":"app","alloc":"j.app[0]",` +
			`"alloc_id":"11111111-0000-0000-0000-000000000000","task":"a","severity":"warning","summary":"output was left out",` +
			`"detail":"1 byte of stderr: the reader was too slow","file":"","line":0,"column":0}` + "\n",
	} {
		s, a := pair(t, 0, Options{Mode: mode})
		s.say(a, "a", event.Notice{Text: "odd\x1b"})
		s.say(a, "a", event.Gap{Stream: event.Stderr, Bytes: 1})
		s.say(a, "a", event.Progress{What: "x", Done: 1})
		s.shows()
		if got := s.out.String() + s.err.String(); got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
}

// Gaps in one place are one line; those of another stream, task or allocation
// have their own lines.
func TestGaps(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{})
	b := alloc("j", 0, "22222222")
	for _, g := range []struct {
		alloc *event.Alloc
		task  string
		event.Gap
	}{
		{a, "a", event.Gap{Bytes: 1}},
		{a, "a", event.Gap{Bytes: 2}},
		{a, "a", event.Gap{Stream: event.Stderr, Bytes: 4}},
		{a, "b", event.Gap{Stream: event.Stderr, Bytes: 8}},
		{b, "b", event.Gap{Stream: event.Stderr, Bytes: 16}},
	} {
		s.say(g.alloc, g.task, g.Gap)
	}
	s.shows()
	var got []string
	for line := range strings.Lines(s.err.String()) {
		got = append(got, strings.TrimSuffix(line, " were left out here: the reader was too slow\n"))
	}
	if want := "a ▲ 3 bytes of stdout|a ▲ 4 bytes of stderr|b ▲ 8 bytes of stderr|b ▲ 16 bytes of stderr"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A message to the user overwrites the ^C that a terminal shows.
func TestSaying(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     ui.Mode
		terminal bool
		term     string
		want     string
	}{
		{ui.Plain, false, "", "▸ stop\\x1b\n"},
		{ui.Plain, true, "xterm", eraseBelow + "▸ stop\\x1b\n"},
		{ui.Plain, true, "dumb", "\r▸ stop\\x1b\n"},
		{ui.Quiet, true, "xterm", eraseBelow + "▸ stop\\x1b\n"},
		{ui.JSON, true, "xterm", eraseBelow + "stop\\x1b\n"},
		{ui.JSON, false, "", ""},
	} {
		s, _ := pair(t, 0, Options{Mode: c.mode})
		s.d.streams.ErrTerm, s.d.streams.Env = c.terminal, func(name string) string { return map[string]string{"TERM": c.term}[name] }
		s.d.Say("stop\x1b")
		if got := s.err.String(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	s := newStage(t, 0, Options{Time: ui.TimeISO})
	s.d.Say("stop")
	if at, text, ok := strings.Cut(s.err.String(), " "); !ok || text != "▸ stop\n" {
		t.Errorf("%q", s.err)
	} else if _, err := time.Parse("2006-01-02T15:04:05.000Z07:00", at); err != nil {
		t.Error(err)
	}
}

// A download replaces a past line only on a terminal that can do that, and its
// time is that of the latest progress.
func TestTimeOfDownloads(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, Options{Jobs: []*api.Job{job("j", 1, task("a"), task("b"))}})
	a := alloc("j", 0, "11111111")
	s.after(time.Second).say(a, "a", event.Progress{What: "x"})
	s.after(time.Second).say(a, "b", event.Progress{What: "y"})
	s.after(time.Second).say(a, "a", event.Progress{What: "x", Done: 1})
	s.shows()
	if got, want := s.screen.String(), "12:00:03.000   ▸ 2 downloads 1 B so far\r"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
	for name, streams := range map[string]func(*ui.Streams){
		"dumb":             func(s *ui.Streams) { s.Env = func(string) string { return "dumb" } },
		"stderr is a pipe": func(s *ui.Streams) { s.ErrTerm = false },
	} {
		s, a := pair(t, 80, Options{})
		streams(s.d.streams)
		s.say(a, "a", event.Progress{What: "x"})
		s.shows()
		if got := s.screen.String(); got != "" {
			t.Errorf("%s: shown %q", name, got)
		}
	}
}

// Events are shown during the run.
func TestRunIsShownAtOnce(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Bare: true})
	r, w := io.Pipe()
	s.d.screen.bufOut.Reset(w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.d.Run(t.Context(), s.sub)
	}()
	for lines := bufio.NewScanner(r); s.now.Before(begin.Add(3 * time.Second)); s.after(time.Second) {
		s.writes(a, "a", event.Stdout, s.now.String()+"\n")
		if !lines.Scan() || lines.Text() != "a │ "+s.now.String() {
			t.Errorf("shown %q, want %s", lines.Text(), s.now)
		}
	}
	s.bus.Close()
	<-done
}

// Objects have the process of a local run, and the address of a cluster.
func TestRunObject(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]Options{
		fmt.Sprintf(`"pid":%d,"socket":"/s","data_dir":"/d"}`, os.Getpid()): {Socket: "/s", DataDir: "/d"},
		`"pid":4711,"socket":"","data_dir":""}`:                             {PID: 4711},
		`"pid":0,"socket":"","data_dir":"","address":"http://c"}`:           {Address: "http://c"},
	} {
		opts.Mode = ui.JSON
		s, _ := pair(t, 0, opts)
		s.d.view.begin()
		s.d.rest()
		if want = `{"type":"run","time":"2026-03-14T12:00:00Z","job":"j","version":"",` + want + "\n"; s.out.String() != want {
			t.Errorf("%s, want %s", s.out, want)
		}
	}
}
