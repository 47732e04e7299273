package waterfall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
)

// The run has a bar of its own if something of note happens to it.
func TestBarOfARun(t *testing.T) {
	t.Parallel()
	mark := func(kind trace.MarkKind) trace.Mark { return trace.Mark{Time: at(time.Second), Kind: kind} }
	for name, tt := range map[string]struct {
		marks []trace.Mark
		want  bool
	}{
		"nothing":      {nil, false},
		"the first":    {[]trace.Mark{mark(trace.Registration), mark(trace.Evaluation), mark(trace.Evaluation)}, false},
		"two versions": {[]trace.Mark{mark(trace.Registration), mark(trace.Registration)}, true},
		"a notice":     {[]trace.Mark{mark(trace.Registration), mark(trace.Notice)}, true},
		"a deployment": {[]trace.Mark{mark(trace.Deployment)}, true},
	} {
		p := newPicture(&trace.Trace{Begin: begin, End: at(2 * time.Second), Marks: tt.marks}, Options{Width: 80, Style: ui.NewStyle(false)})
		if got := p.ofRun(); strings.HasPrefix(got, "run ") != tt.want || (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A picture names a limited number of failures.
func TestManyFailures(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{maxFailures: "", maxFailures + 1: "  and 1 more", maxFailures + 9: "  and 9 more"} {
		tr := &trace.Trace{Begin: begin, End: at(time.Hour), Rows: []*trace.Row{{Name: "web"}}}
		for i := range n {
			tr.Rows[0].Marks = append(tr.Rows[0].Marks, trace.Mark{Time: at(time.Duration(i) * time.Second), Kind: trace.Check, Title: fmt.Sprint("failure ", i), Weight: fold.Trouble})
		}
		lines := newPicture(tr, Options{Width: 80, Style: ui.NewStyle(false)}).failures()
		if want == "" {
			want = fmt.Sprintf("failure %d", n-1)
		}
		if last := lines[len(lines)-1]; !strings.HasSuffix(last, want) || !strings.HasSuffix(lines[1], "failure 0") {
			t.Errorf("of %d failures the last line is %q, want %q", n, last, want)
		}
	}
}

// The result of a task is its state during the run, and how it ended after that.
func TestResults(t *testing.T) {
	t.Parallel()
	open := span(trace.Restarting, 0, time.Second)
	open.Open = true
	for _, tt := range []struct {
		row  trace.Row
		live bool

		want, brief string
	}{
		{trace.Row{State: "running"}, false, "lost", "lost"},
		{trace.Row{State: "running"}, true, "running", "running"},
		{trace.Row{State: "pending", Spans: []trace.Span{open}, Restarts: 1}, true, "restarting, 1 restart", "restarting"},
		{trace.Row{State: "pending", Spans: []trace.Span{span(trace.Setup, 0, 1)}}, true, "pending", "pending"},
		{trace.Row{State: "dead", ExitCode: new(3), Failed: true, Restarts: 2}, true, "exit 3, 2 restarts", "exit 3"},
		{trace.Row{State: "dead", ExitCode: new(0), Merged: 5, Restarts: 2}, false, "exit 0, 5 allocations", "exit 0"},
		{trace.Row{State: "dead", Failed: true}, false, "failed", "failed"},
		{trace.Row{State: "dead"}, false, "not started", "not started"},
	} {
		for width, want := range map[int]string{narrow: tt.want, narrow - 1: tt.brief} {
			p := newPicture(&trace.Trace{Begin: begin, End: at(time.Second), Live: tt.live}, Options{Width: width, Style: ui.NewStyle(false)})
			if got := p.outcome(&tt.row); got != want {
				t.Errorf("%+v in %d columns: %q, want %q", tt.row, width, got, want)
			}
		}
	}
}

// A step says what it has waited for, unless the step before it was of the same task.
func TestReasons(t *testing.T) {
	t.Parallel()
	web := &trace.Row{Name: "web"}
	wait, stop := span(trace.Waiting, 0, time.Second), span(trace.Stopping, 5*time.Second, 6*time.Second)
	wait.For, stop.After = "the end of init", web
	r := &trace.Row{Name: "log", Spans: []trace.Span{wait, span(trace.Running, time.Second, 5*time.Second), stop}}
	for name, tt := range map[string]struct {
		step   trace.Step
		before *trace.Row
		want   string
	}{
		"of the run":             {trace.Step{Kind: trace.Waiting, From: begin}, nil, ""},
		"the wait":               {trace.Step{Row: r, Kind: trace.Waiting, From: begin}, nil, "for the end of init"},
		"after the wait":         {trace.Step{Row: r, Kind: trace.Running, From: at(time.Second)}, web, "after the end of init"},
		"after its own wait":     {trace.Step{Row: r, Kind: trace.Running, From: at(time.Second)}, r, ""},
		"the end":                {trace.Step{Row: r, Kind: trace.Stopping, From: at(5 * time.Second)}, r, "after the end of web"},
		"an end at another time": {trace.Step{Row: r, Kind: trace.Stopping, From: at(6 * time.Second)}, r, ""},
		"before all":             {trace.Step{Row: r, Kind: trace.Waiting, From: at(-1)}, web, ""},
	} {
		if got := reason(tt.step, tt.before); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
