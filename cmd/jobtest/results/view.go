// Package results shows the results of job tests, as they come and as suites of JUnit.
package results

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskrun/cmd/console"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/jobtest/worker"
	"taskrun/cmd/prose"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// Planned is a run of a test file.
type Planned struct {
	File *jobtest.File
	Run  *jobtest.Run
}

// Name is the name that --filter matches.
func (p Planned) Name() string { return p.File.Path + "/" + p.Run.Name }

// source returns the text that diagnostics of the run point into.
func (p Planned) source() map[string][]byte {
	return map[string][]byte{p.File.Path: p.File.Text}
}

// View shows the results of job tests in the order of their files, whatever the
// order in which they come.
type View struct {
	*console.Console

	opts  Options
	runs  []Planned
	began time.Time

	results []*worker.Result // by run; nil: none yet
	next    int              // the first run whose result was not shown
	over    bool             // no further results are shown
	err     error            // of stdout

	Passed, Failed int
	virtual        time.Duration
}

// Options say how results are shown.
type Options struct {
	Format            console.Format
	Verbose, FailFast bool
	Seed              uint64
	Flags             []string // of the command that plays a run again, besides --seed and --filter
	Version           string
}

// New returns a view of runs that begin now.
func New(c *console.Console, opts Options, runs []Planned) *View {
	return &View{Console: c, opts: opts, runs: runs, began: time.Now(), results: make([]*worker.Result, len(runs))}
}

// Take takes the result of a run, and reports whether others are wanted.
func (v *View) Take(i int, r worker.Result) bool {
	v.results[i] = &r
	for !v.over && v.next < len(v.runs) && v.results[v.next] != nil {
		v.show(v.next)
		v.next++
	}
	return v.err == nil && (len(r.Failures) == 0 || !v.opts.FailFast)
}

func (v *View) show(i int) {
	r := v.results[i]
	v.virtual += r.Elapsed
	if len(r.Failures) == 0 {
		v.Passed++
	} else {
		v.Failed++
		v.over = v.opts.FailFast
	}
	var out strings.Builder
	switch v.opts.Format {
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

func (v *View) writePlain(out *strings.Builder, i int) {
	p, r, style := v.runs[i], v.results[i], v.Streams.OutStyle(v.Color)
	if len(v.files()) > 1 && (i == 0 || v.runs[i-1].File != p.File) {
		fmt.Fprintln(out, style.Strong(p.File.Path))
	}
	mark, took := style.Good("✓"), prose.Brief(r.Elapsed)
	if len(r.Failures) > 0 {
		mark = style.Bad("✗")
	}
	if p.Run.Mode == jobtest.Real {
		took += " in real time"
	}
	fmt.Fprintf(out, "%s %s %s\n", mark, style.Plain(prose.OneLine(p.Run.Name)), style.Quiet("("+took+")"))
	if v.opts.Verbose {
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
	if title, last := lastEvents(r); len(last) > 0 && !v.opts.Verbose {
		fmt.Fprintln(out, "  "+style.Quiet(title))
		v.writeEvents(out, last)
	}
	fmt.Fprintf(out, "  repeat it: %s\n", style.Plain(v.repeat(p)))
}

// shownEvents is how many events explain a failure.
const shownEvents = 10

// lastEvents returns the last events of the targets of failures, and a title. It
// returns none if all failures have a diff, which shows more.
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

func (v *View) writeEvents(out io.Writer, events []timeline.Event) {
	style := v.Streams.OutStyle(v.Color)
	for _, e := range events {
		fmt.Fprintln(out, "  "+style.Quiet(e.String()))
	}
}

func (v *View) writeFailure(out *strings.Builder, p Planned, f worker.Failure) {
	if v.opts.Format == console.FormatGitHub {
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
	if f.Stack != "" && v.opts.Verbose {
		for line := range strings.Lines(visible.Text(strings.TrimSpace(f.Stack))) {
			out.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
}

// shownDiff is how many lines of a diff are shown without --verbose.
const shownDiff = 40

func (v *View) writeDiff(out *strings.Builder, diff string) {
	lines := slices.Collect(strings.Lines(diff))
	more := 0
	if !v.opts.Verbose && len(lines) > shownDiff {
		lines, more = lines[:shownDiff], len(lines)-shownDiff
	}
	for line := range strings.Lines(console.PaintDiff(v.Streams.OutStyle(v.Color), strings.Join(lines, ""))) {
		out.WriteString("  " + line)
	}
	if more > 0 {
		fmt.Fprintf(out, "  … and %s: --verbose shows all\n", prose.Count(more, "line"))
	}
}

// seed returns the seed as a word.
func (v *View) seed() string { return strconv.FormatUint(v.opts.Seed, 10) }

// repeat is the command that plays a run again.
func (v *View) repeat(p Planned) string {
	words := []string{"taskrun", "test", "--seed", v.seed(), "--filter", console.ShellWord(p.Run.Name)}
	return strings.Join(append(append(words, v.opts.Flags...), console.ShellWord(p.File.Path)), " ")
}

// Close shows how many runs passed, and returns the error of stdout.
func (v *View) Close(code int) error {
	notRun := len(v.runs) - v.Passed - v.Failed
	took := time.Since(v.began)
	switch {
	case v.err != nil || v.opts.Format == console.FormatQuiet:
		return v.err
	case v.opts.Format == console.FormatJSON:
		return ui.WriteObject(v.Streams.Out, "test_summary", time.Now(), testSummary{v.Passed, v.Failed, notRun, code, took.Milliseconds()})
	}
	style := v.Streams.OutStyle(v.Color)
	text := fmt.Sprintf("%d passed", v.Passed)
	if v.Failed > 0 {
		text += fmt.Sprintf(", %d failed", v.Failed)
	}
	if notRun > 0 {
		text += fmt.Sprintf(", %d not run", notRun)
	}
	paint := style.Good
	if v.Failed > 0 || notRun > 0 {
		paint = style.Bad
	}
	_, err := fmt.Fprintf(v.Streams.Out, "%s %s\n", paint(text), style.Quiet(fmt.Sprintf("in %s (%s on the clocks of the runs)", prose.Duration(took), prose.Brief(v.virtual))))
	return err
}

// files returns the test files, each once.
func (v *View) files() (files []*jobtest.File) {
	for _, p := range v.runs {
		if !slices.Contains(files, p.File) {
			files = append(files, p.File)
		}
	}
	return files
}

// Failures returns the failures that were shown.
func (v *View) Failures() (all jobspec.Diagnostics) {
	for _, result := range v.results[:v.next] {
		for _, f := range result.Failures {
			all = append(all, f.Diagnostic)
		}
	}
	return all
}

// testObject is the JSON object of type "test".
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

// testEvent is the JSON object of type "test_event", without its file and run.
type testEvent struct {
	AtMS    int64  `json:"at_ms"` // since the beginning of the run, on its clock
	Target  string `json:"target,omitempty"`
	Event   string `json:"event"`
	Message string `json:"message,omitempty"`
}

// testSummary is the last JSON object.
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
