package results

import (
	"io"
	"time"

	"taskrun/cmd/console"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/ui"
)

// testObject is what an object of type "test" says.
type testObject struct {
	File      string        `json:"file"`
	Line      int           `json:"line"`
	Run       string        `json:"run"`
	Mode      string        `json:"mode"`
	Status    string        `json:"status"` // passed or failed
	Seed      uint64        `json:"seed"`
	ElapsedMS int64         `json:"elapsed_ms"` // on the clock of the run
	RealMS    int64         `json:"real_ms"`
	Failures  []testFailure `json:"failures,omitempty"`
	Notices   []string      `json:"notices,omitempty"`
}

type testFailure struct {
	ui.Diagnostic
	Events []testEvent `json:"events,omitempty"` // the last ones of the tasks that it is about
	Diff   string      `json:"diff,omitempty"`   // between the snapshot and the run
	Stack  string      `json:"stack,omitempty"`
}

// testEvent is what an object of type "test_event" says besides its file and run.
type testEvent struct {
	AtMS    int64  `json:"at_ms"` // since the beginning of the run, on its clock
	Target  string `json:"target,omitempty"`
	Event   string `json:"event"`
	Message string `json:"message,omitempty"`
}

// testSummary is what the last object says.
type testSummary struct {
	Passed   int   `json:"passed"`
	Failed   int   `json:"failed"`
	NotRun   int   `json:"not_run"`
	ExitCode int   `json:"exit_code"`
	RealMS   int64 `json:"real_ms"`
}

func (v *View) writeJSON(out io.Writer, i int) {
	p, r, now := v.runs[i], v.results[i], time.Now()
	if v.opts.Verbose {
		of := struct {
			File string `json:"file"`
			Run  string `json:"run"`
		}{p.File.Path, p.Run.Name}
		for _, e := range testEvents(r.Events) {
			_ = ui.WriteObject(out, "test_event", now, of, e) // memory does not fail
		}
	}
	o := testObject{
		File: p.File.Path, Line: p.Run.Range.Start.Line, Run: p.Run.Name, Mode: string(p.Run.Mode), Status: "passed",
		Seed: v.opts.Seed, ElapsedMS: r.Elapsed.Milliseconds(), RealMS: r.Took.Milliseconds(), Notices: r.Notices,
	}
	for _, f := range r.Failures {
		o.Status = "failed"
		o.Failures = append(o.Failures, testFailure{
			Diagnostic: console.AsDiagnostic(f.Diagnostic), Diff: f.Diff, Stack: f.Stack,
			Events: testEvents(timeline.About(r.Events, f.Targets, shownEvents)),
		})
	}
	_ = ui.WriteObject(out, "test", now, o)
}

func testEvents(events []timeline.Event) (list []testEvent) {
	for _, e := range events {
		list = append(list, testEvent{e.At.Milliseconds(), e.Target, e.Type, e.Message})
	}
	return list
}
