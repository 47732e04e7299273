package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/console"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/jobtest/worker"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/jobspec"
)

func planned() []Planned {
	a, b := &jobtest.File{Path: "a.test.hcl", Text: []byte("run \"one\" {\n}\n")}, &jobtest.File{Path: "b.test.hcl"}
	one := &jobtest.Run{Name: "one", Mode: jobtest.Virtual}
	one.Range.Start.Line = 7
	return []Planned{{a, one}, {a, &jobtest.Run{Name: "it's two", Mode: jobtest.Real}}, {b, &jobtest.Run{Name: "three", Mode: jobtest.Virtual}}}
}

func view(opts Options) (v *View, out, stderr *bytes.Buffer) {
	streams, out, stderr := ui.Test()
	return New(&console.Console{Streams: streams}, opts, planned()), out, stderr
}

func failure(summary string, targets ...string) worker.Failure {
	f := worker.Failure{Targets: targets}
	f.Severity, f.Summary, f.Range.File, f.Range.Start.Line, f.Range.Start.Column = jobspec.Error, summary, "a.test.hcl", 1, 1
	f.Range.End = f.Range.Start
	return f
}

// events returns n events of a task, and one of another.
func events(n int) (list []timeline.Event) {
	for i := range n {
		list = append(list, timeline.Event{At: time.Duration(i) * time.Second, Target: "g[0]/app", Type: "Started", Message: fmt.Sprint("number ", i)})
	}
	return append(list, timeline.Event{At: time.Minute, Target: "g[0]/other", Type: "Killed"})
}

func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

func TestPlain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, out, _ := view(Options{Seed: 5, Flags: []string{"--update"}})
		if !v.Take(2, worker.Result{Elapsed: 2 * time.Second}) || out.Len() > 0 {
			t.Errorf("the last result is shown first: %q", out)
		}
		if !v.Take(1, worker.Result{Elapsed: time.Second, Failures: []worker.Failure{failure("it differs", "g[0]/app"), failure("again", "g[0]/app")}, Events: events(12)}) || out.Len() > 0 {
			t.Errorf("the second result is shown first: %q", out)
		}
		v.Take(0, worker.Result{Elapsed: time.Second, Events: events(1), Notices: []string{"a notice"}})
		want := lines("a.test.hcl", "✓ one (1s)", "✗ it's two (1s in real time)",
			"  error: it differs", "    a.test.hcl:1:1", "    1 | run \"one\" {", "      | ^",
			"  error: again", "    a.test.hcl:1:1", "    1 | run \"one\" {", "      | ^",
			"  last events of g[0]/app:")
		for i := 2; i < 12; i++ {
			want += fmt.Sprintf("  %-10s %-16s Started: number %d\n", time.Duration(i)*time.Second, "g[0]/app", i)
		}
		want += lines(`  repeat it: taskrun test --seed 5 --filter 'it'\''s two' --update a.test.hcl`, "b.test.hcl", "✓ three (2s)")
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
		out.Reset()
		<-time.After(3 * time.Second)
		if err := v.Close(1); err != nil || out.String() != "2 passed, 1 failed in 3s (4s on the clocks of the runs)\n" {
			t.Errorf("at the end: %q, %v", out, err)
		}
		if v.Passed != 2 || v.Failed != 1 {
			t.Errorf("%d passed, %d failed", v.Passed, v.Failed)
		}
		if all := v.Failures(); len(all) != 2 || all[0].Summary != "it differs" || all[1].Summary != "again" {
			t.Errorf("failures %v", all)
		}
	})
}

// With --verbose all is shown: events, notices, stacks and whole diffs.
func TestVerbose(t *testing.T) {
	t.Parallel()
	for _, verbose := range []bool{false, true} {
		v, out, _ := view(Options{Verbose: verbose})
		crashed := failure("crashed", "g[0]/app")
		crashed.Stack = "\nmain.main()\n\tx.go:1\x1b\n"
		v.Take(0, worker.Result{Failures: []worker.Failure{crashed}, Events: events(1), Notices: []string{"a notice"}})
		for part, want := range map[string]bool{
			"  1m0s       g[0]/other       Killed\n": verbose, "  ▸ a notice\n": verbose, "  main.main()\n  \tx.go:1\\x1b\n": verbose,
			"last events of g[0]/app:\n": !verbose,
		} {
			if strings.Contains(out.String(), part) != want {
				t.Errorf("verbose %v: %q in %q", verbose, part, out)
			}
		}
	}
	for _, tt := range []struct {
		verbose bool
		n       int
		last    string
	}{
		{false, shownDiff, "  +line\n"},
		{false, shownDiff + 1, "  … and 1 line: --verbose shows all\n"},
		{true, shownDiff + 1, "  +line\n"},
	} {
		v, out, _ := view(Options{Verbose: tt.verbose})
		f := failure("it differs")
		f.Diff = strings.Repeat("+line\n", tt.n)
		v.Take(0, worker.Result{Failures: []worker.Failure{f}, Events: events(1)})
		text, _, _ := strings.Cut(out.String(), "  repeat it: ")
		shown := min(tt.n, shownDiff)
		if tt.verbose {
			shown = tt.n
		}
		if strings.Count(text, "  +line\n") != shown || !strings.HasSuffix(text, tt.last) || strings.Contains(text, "last events") {
			t.Errorf("%+v: %q", tt, text)
		}
	}
}

func TestLastEvents(t *testing.T) {
	t.Parallel()
	diff := failure("a diff")
	diff.Diff = "-a\n"
	for _, tt := range []struct {
		failures []worker.Failure
		title    string
		n        int
	}{
		{[]worker.Failure{failure("x", "g[0]/app", "g[0]/other"), failure("y", "g[0]/app")}, "last events of g[0]/app, g[0]/other:", 3},
		{[]worker.Failure{failure("x", "g[0]/other")}, "last events of g[0]/other:", 1},
		{[]worker.Failure{failure("x")}, "last events:", 3},
		{[]worker.Failure{diff}, "", 0},
		{[]worker.Failure{failure("x"), diff}, "last events:", 3},
	} {
		title, last := lastEvents(&worker.Result{Failures: tt.failures, Events: events(2)})
		if title != tt.title || len(last) != tt.n {
			t.Errorf("%q, %d events, want %q, %d", title, len(last), tt.title, tt.n)
		}
	}
}

// With --fail-fast nothing is shown after the first failure.
func TestFailFast(t *testing.T) {
	t.Parallel()
	v, out, _ := view(Options{FailFast: true})
	if !v.Take(1, worker.Result{}) {
		t.Error("a success ends it")
	}
	if v.Take(0, worker.Result{Failures: []worker.Failure{failure("x")}}) {
		t.Error("a failure does not end it")
	}
	if strings.Contains(out.String(), "two") || v.Passed != 0 || v.Failed != 1 {
		t.Errorf("%d passed, %d failed: %q", v.Passed, v.Failed, out)
	}
	out.Reset()
	if err := v.Close(1); err != nil || !strings.HasPrefix(out.String(), "0 passed, 1 failed, 2 not run in ") {
		t.Errorf("%q, %v", out, err)
	}
	suites := v.Suites()
	if skipped := suites[0].Cases[1].Skipped; skipped != "not run" {
		t.Errorf("a result that was not shown is %q", skipped)
	}
}

func TestColors(t *testing.T) {
	t.Parallel()
	style := ui.NewStyle(true)
	for _, tt := range []struct {
		take int
		fail bool
		want []string
	}{
		{3, false, []string{style.Good("✓"), style.Good("3 passed"), style.Strong("a.test.hcl")}},
		{3, true, []string{style.Bad("✗"), style.Bad("0 passed, 3 failed")}},
		{2, false, []string{style.Bad("2 passed, 1 not run")}},
	} {
		v, out, _ := view(Options{})
		v.Color = ui.ColorAlways
		for i := range tt.take {
			var r worker.Result
			if tt.fail {
				r.Failures = []worker.Failure{failure("x")}
			}
			v.Take(i, r)
		}
		if err := v.Close(0); err != nil {
			t.Error(err)
		}
		for _, part := range tt.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%q is missing in %q", part, out)
			}
		}
	}
}

// The path of the only test file is not shown.
func TestOneFile(t *testing.T) {
	t.Parallel()
	v, out, _ := view(Options{})
	v.runs = v.runs[:2]
	v.Take(0, worker.Result{})
	if out.String() != "✓ one (<1ms)\n" {
		t.Errorf("%q", out)
	}
	if got := v.runs[0].Name(); got != "a.test.hcl/one" {
		t.Errorf("its name is %q", got)
	}
}

func TestOtherFormats(t *testing.T) {
	t.Parallel()
	failed := worker.Result{Failures: []worker.Failure{failure("it differs")}}
	v, out, _ := view(Options{Format: console.FormatQuiet})
	v.Take(0, failed)
	if err := v.Close(1); err != nil || out.Len() > 0 {
		t.Errorf("quiet: %q, %v", out, err)
	}
	v, out, _ = view(Options{Format: console.FormatGitHub})
	v.Take(0, failed)
	if !strings.Contains(out.String(), "\n::error file=a.test.hcl,line=1,col=1,endLine=1,endColumn=1::it differs\n") {
		t.Errorf("on GitHub: %q", out)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, out, _ := view(Options{Format: console.FormatJSON, Seed: 5, Verbose: true})
		f := failure("it differs", "g[0]/app")
		f.Diff, f.Stack = "-a", "a stack"
		v.Take(0, worker.Result{Elapsed: 1500 * time.Millisecond, Took: 2 * time.Millisecond, Failures: []worker.Failure{f}, Events: events(1), Notices: []string{"a notice"}})
		v.opts.Verbose = false
		v.Take(1, worker.Result{Events: events(1)})
		<-time.After(time.Second)
		if err := v.Close(3); err != nil {
			t.Error(err)
		}
		var got []map[string]any
		for line := range strings.Lines(out.String()) {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Fatal(err)
			}
			delete(object, "time")
			got = append(got, object)
		}
		started := map[string]any{"at_ms": 0., "target": "g[0]/app", "event": "Started", "message": "number 0"}
		want := []map[string]any{
			{"type": "test_event", "file": "a.test.hcl", "run": "one", "at_ms": 0., "target": "g[0]/app", "event": "Started", "message": "number 0"},
			{"type": "test_event", "file": "a.test.hcl", "run": "one", "at_ms": 60000., "target": "g[0]/other", "event": "Killed"},
			{
				"type": "test", "file": "a.test.hcl", "line": 7., "run": "one", "mode": "virtual", "status": "failed", "seed": 5., "elapsed_ms": 1500., "real_ms": 2.,
				"failures": []any{map[string]any{
					"severity": "error", "summary": "it differs", "detail": "", "file": "a.test.hcl", "line": 1., "column": 1., "events": []any{started}, "diff": "-a", "stack": "a stack",
				}},
				"notices": []any{"a notice"},
			},
			{"type": "test", "file": "a.test.hcl", "line": 0., "run": "it's two", "mode": "real", "status": "passed", "seed": 5., "elapsed_ms": 0., "real_ms": 0.},
			{"type": "test_summary", "passed": 1., "failed": 1., "not_run": 1., "exit_code": 3., "real_ms": 1000.},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

type broken struct{ n int }

func (b *broken) Write([]byte) (int, error) {
	b.n++
	return 0, io.ErrClosedPipe
}

// Without stdout no further results are wanted.
func TestBrokenStdout(t *testing.T) {
	t.Parallel()
	v, _, _ := view(Options{})
	to := &broken{}
	v.Streams.Out = to
	if v.Take(0, worker.Result{}) || v.Take(1, worker.Result{}) || to.n != 1 {
		t.Errorf("further results are wanted after %d errors", to.n)
	}
	if err := v.Close(0); err == nil || to.n != 1 {
		t.Errorf("%v after %d errors", err, to.n)
	}
}

func TestSuites(t *testing.T) {
	t.Parallel()
	v, _, _ := view(Options{Seed: 5, Version: "1.2"})
	f := failure("it differs", "g[0]/app")
	f.Diff, f.Stack = "-a\n", "a stack\n"
	first := failure("it is wrong")
	v.Take(0, worker.Result{Took: time.Second, Elapsed: time.Minute, Output: []worker.Output{{Target: "app", Stdout: "one\ntwo", Stderr: "odd\n"}, {Target: "b", Stdout: "x\n"}}})
	v.Take(1, worker.Result{Failures: []worker.Failure{first, f}, Events: events(1)})
	host, _ := os.Hostname()
	place := "\n  a.test.hcl:1:1\n  1 | run \"one\" {\n    | ^\n"
	want := []report.Suite{
		{Name: "a.test.hcl", Began: v.began, Host: host, Properties: []report.Property{
			{Name: "taskrun.version", Value: "1.2"},
			{Name: "seed", Value: "5"},
			{Name: "mode.one", Value: "virtual"},
			{Name: "virtual_time.one", Value: "1m0s"},
			{Name: "mode.it's two", Value: "real"},
		}, Cases: []report.Case{
			{Class: "a.test.hcl", Name: "one", Took: time.Second, Out: "app: one\napp: two\nb: x\n", Err: "app: odd\n"},
			{Class: "a.test.hcl", Name: "it's two", Failures: []report.Failed{
				{Type: "assert", Message: "it is wrong", Body: strings.TrimSuffix("error: it is wrong"+place, "\n")},
				{Type: "assert", Message: "it differs", Body: "error: it differs" + place + "-a\na stack\nlast events of g[0]/app:\n0s         g[0]/app         Started: number 0"},
			}},
		}},
		{Name: "b.test.hcl", Began: v.began, Host: host, Properties: []report.Property{
			{Name: "taskrun.version", Value: "1.2"}, {Name: "seed", Value: "5"}, {Name: "mode.three", Value: "virtual"},
		}, Cases: []report.Case{{Class: "b.test.hcl", Name: "three", Skipped: "not run"}}},
	}
	if diff := cmp.Diff(want, v.Suites()); diff != "" {
		t.Error(diff)
	}
}
