package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/ci"
	"taskrun/cmd/console"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/jobtest/worker"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// plannedRun is a run of a test file.
type plannedRun struct {
	file *jobtest.File
	run  *jobtest.Run
}

// name is what --filter looks at.
func (p plannedRun) name() string { return p.file.Path + "/" + p.run.Name }

// source returns the text that diagnostics of the run point into.
func (p plannedRun) source() map[string][]byte {
	return map[string][]byte{p.file.Path: p.file.Text}
}

// testView shows the results of job tests in the order of their files, whatever the
// order in which they come.
type testView struct {
	*app

	opts  testOptions
	runs  []plannedRun
	began time.Time

	results []*worker.Result // by run; nil: none yet
	next    int              // the first run whose result was not shown
	over    bool             // no further results are shown
	err     error            // of stdout

	passed, failed int
	virtual        time.Duration
}

func newTestView(a *app, opts testOptions, runs []plannedRun) *testView {
	return &testView{app: a, opts: opts, runs: runs, began: time.Now(), results: make([]*worker.Result, len(runs))}
}

// take takes the result of a run, and reports whether others are wanted.
func (v *testView) take(i int, r worker.Result) bool {
	v.results[i] = &r
	for !v.over && v.next < len(v.runs) && v.results[v.next] != nil {
		v.show(v.next)
		v.next++
	}
	return v.err == nil && (len(r.Failures) == 0 || !v.opts.failFast)
}

func (v *testView) show(i int) {
	r := v.results[i]
	v.virtual += r.Elapsed
	if len(r.Failures) == 0 {
		v.passed++
	} else {
		v.failed++
		v.over = v.opts.failFast
	}
	var out strings.Builder
	switch v.opts.format {
	case console.FormatQuiet:
	case console.FormatJSON:
		v.writeJSON(&out, i)
	default:
		v.writePlain(&out, i)
	}
	if v.err == nil {
		_, v.err = io.WriteString(v.Streams.Out, out.String())
	}
}

func (v *testView) writePlain(out *strings.Builder, i int) {
	p, r, style := v.runs[i], v.results[i], v.Streams.OutStyle(v.Color)
	if len(v.files()) > 1 && (i == 0 || v.runs[i-1].file != p.file) {
		fmt.Fprintln(out, style.Strong(p.file.Path))
	}
	mark, took := style.Good("✓"), ui.Brief(r.Elapsed)
	if len(r.Failures) > 0 {
		mark = style.Bad("✗")
	}
	if p.run.Mode == jobtest.Real {
		took += " in real time"
	}
	fmt.Fprintf(out, "%s %s %s\n", mark, style.Plain(ui.OneLine(p.run.Name)), style.Quiet("("+took+")"))
	if v.opts.verbose {
		v.writeEvents(out, r.Events)
		for _, n := range r.Notices {
			fmt.Fprintln(out, "  "+style.Note("▸ "+n))
		}
	}
	if len(r.Failures) == 0 {
		return
	}
	for _, f := range r.Failures {
		v.writeFailure(out, p, f)
	}
	if title, last := lastEvents(r); len(last) > 0 && !v.opts.verbose {
		fmt.Fprintln(out, "  "+style.Quiet(title))
		v.writeEvents(out, last)
	}
	fmt.Fprintf(out, "  repeat it: %s\n", style.Plain(v.repeat(p)))
}

// shownEvents is how many events explain a failure.
const shownEvents = 10

// lastEvents returns the last events of what failures are about, and a title. A diff
// shows more than they do.
func lastEvents(r *worker.Result) (title string, last []timeline.Event) {
	var targets []string
	explained := true
	for _, f := range r.Failures {
		explained = explained && f.Diff != ""
		for _, t := range f.Targets {
			if !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	switch {
	case explained:
		return "", nil
	case len(targets) == 0:
		return "last events:", timeline.About(r.Events, nil, shownEvents)
	}
	return "last events of " + strings.Join(targets, ", ") + ":", timeline.About(r.Events, targets, shownEvents)
}

func (v *testView) writeEvents(out io.Writer, events []timeline.Event) {
	style := v.Streams.OutStyle(v.Color)
	for _, e := range events {
		fmt.Fprintln(out, "  "+style.Quiet(e.String()))
	}
}

func (v *testView) writeFailure(out *strings.Builder, p plannedRun, f worker.Failure) {
	if v.opts.format == console.FormatGitHub {
		fmt.Fprintln(out, report.Annotation(f.Diagnostic, v.InWorkspace))
	} else {
		text := console.TextIn(p.source(), f.Diagnostic, v.Streams.OutStyle(v.Color), v.Streams.Width()-2)
		for line := range strings.Lines(text) {
			out.WriteString("  " + line)
		}
	}
	if f.Diff != "" {
		v.writeDiff(out, f.Diff)
	}
	if f.Stack != "" && v.opts.verbose {
		for line := range strings.Lines(visible.Text(strings.TrimSpace(f.Stack))) {
			out.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
}

// shownDiff is how many lines of a diff are shown without --verbose.
const shownDiff = 40

func (v *testView) writeDiff(out *strings.Builder, diff string) {
	lines := slices.Collect(strings.Lines(diff))
	more := 0
	if !v.opts.verbose && len(lines) > shownDiff {
		lines, more = lines[:shownDiff], len(lines)-shownDiff
	}
	for line := range strings.Lines(paintDiff(v.Streams.OutStyle(v.Color), strings.Join(lines, ""))) {
		out.WriteString("  " + line)
	}
	if more > 0 {
		fmt.Fprintf(out, "  … and %s: --verbose shows all\n", ui.Count(more, "line"))
	}
}

// repeat is the command that plays a run again.
func (v *testView) repeat(p plannedRun) string {
	words := []string{"taskrun", "test", "--seed", v.opts.seed.String(), "--filter", console.ShellWord(p.run.Name)}
	given := v.opts.flags.Changed // else the environment or the config file has it, and it may be secret
	if given("var") {
		for _, pair := range v.opts.Vars {
			words = append(words, "--var", console.ShellWord(pair))
		}
	}
	if given("var-file") {
		for _, file := range v.opts.VarFiles {
			words = append(words, "--var-file", console.ShellWord(file))
		}
	}
	return strings.Join(append(words, console.ShellWord(p.file.Path)), " ")
}

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

func (v *testView) writeJSON(out io.Writer, i int) {
	p, r, now := v.runs[i], v.results[i], time.Now()
	if v.opts.verbose {
		of := struct {
			File string `json:"file"`
			Run  string `json:"run"`
		}{p.file.Path, p.run.Name}
		for _, e := range testEvents(r.Events) {
			_ = ui.WriteObject(out, "test_event", now, of, e) // memory does not fail
		}
	}
	o := testObject{
		File: p.file.Path, Line: p.run.Range.Start.Line, Run: p.run.Name, Mode: string(p.run.Mode), Status: "passed",
		Seed: uint64(v.opts.seed), ElapsedMS: r.Elapsed.Milliseconds(), RealMS: r.Took.Milliseconds(), Notices: r.Notices,
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

// close shows how many runs passed, and returns the error of stdout.
func (v *testView) close(code int) error {
	notRun := len(v.runs) - v.passed - v.failed
	took := time.Since(v.began)
	switch {
	case v.err != nil || v.opts.format == console.FormatQuiet:
		return v.err
	case v.opts.format == console.FormatJSON:
		return ui.WriteObject(v.Streams.Out, "test_summary", time.Now(), testSummary{v.passed, v.failed, notRun, code, took.Milliseconds()})
	}
	style := v.Streams.OutStyle(v.Color)
	text := fmt.Sprintf("%d passed", v.passed)
	if v.failed > 0 {
		text += fmt.Sprintf(", %d failed", v.failed)
	}
	if notRun > 0 {
		text += fmt.Sprintf(", %d not run", notRun)
	}
	paint := style.Good
	if v.failed > 0 || notRun > 0 {
		paint = style.Bad
	}
	_, err := fmt.Fprintf(v.Streams.Out, "%s %s\n", paint(text), style.Quiet(fmt.Sprintf("in %s (%s on the clocks of the runs)", ui.Duration(took), ui.Brief(v.virtual))))
	return err
}

// files returns the test files, each once.
func (v *testView) files() (files []*jobtest.File) {
	for _, p := range v.runs {
		if !slices.Contains(files, p.file) {
			files = append(files, p.file)
		}
	}
	return files
}

// suites returns the results as suites of JUnit, one for each file.
func (v *testView) suites() (suites []report.Suite) {
	for i, p := range v.runs {
		if i == 0 || v.runs[i-1].file != p.file {
			suites = append(suites, report.Suite{Name: p.file.Path, Began: v.began, Host: ci.Hostname(), Properties: []report.Property{
				{Name: "taskrun.version", Value: currentVersion().Version}, {Name: "seed", Value: v.opts.seed.String()},
			}})
		}
		s := &suites[len(suites)-1]
		s.Cases = append(s.Cases, v.testCase(i))
		s.Properties = append(s.Properties, report.Property{Name: "mode." + p.run.Name, Value: string(p.run.Mode)})
		if r := v.results[i]; r != nil && p.run.Mode == jobtest.Virtual {
			s.Properties = append(s.Properties, report.Property{Name: "virtual_time." + p.run.Name, Value: r.Elapsed.String()})
		}
	}
	return suites
}

func (v *testView) testCase(i int) report.Case {
	p, r := v.runs[i], v.results[i]
	c := report.Case{Class: p.file.Path, Name: p.run.Name}
	if r == nil || i >= v.next {
		c.Skipped = "not run"
		return c
	}
	c.Took = r.Took
	c.Failures = junitFailures(p, r)
	var stdout, stderr strings.Builder
	for _, o := range r.Output {
		labeled(&stdout, o.Target, o.Stdout)
		labeled(&stderr, o.Target, o.Stderr)
	}
	c.Out, c.Err = stdout.String(), stderr.String()
	return c
}

// junitFailures returns the failures of a run; the last one ends with its last events.
func junitFailures(p plannedRun, r *worker.Result) (list []report.Failed) {
	for i, f := range r.Failures {
		var body strings.Builder
		body.WriteString(console.TextIn(p.source(), f.Diagnostic, ui.NewStyle(false), 0) + f.Diff + f.Stack)
		if i == len(r.Failures)-1 {
			targets, last := lastEvents(r)
			if len(last) > 0 {
				body.WriteString(targets + "\n")
			}
			for _, e := range last {
				body.WriteString(e.String() + "\n")
			}
		}
		list = append(list, report.Failed{Type: "assert", Message: f.Summary, Body: strings.TrimSuffix(body.String(), "\n")})
	}
	return list
}

// labeled writes lines with the name of a task before each.
func labeled(out *strings.Builder, target, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "%s: %s\n", target, strings.TrimSuffix(line, "\n"))
	}
}

// failures returns the failures that were shown.
func (v *testView) failures() (all jobspec.Diagnostics) {
	for _, result := range v.results[:v.next] {
		for _, f := range result.Failures {
			all = append(all, f.Diagnostic)
		}
	}
	return all
}
