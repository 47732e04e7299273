package ci

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/jobspec"
)

// workflow is a command in a CI system, with the files of its reports.
type workflow struct {
	*Reporter
	dir         string
	out, stderr *bytes.Buffer
}

// env is the environment, in which DIR stands for the directory of the workflow.
func begin(t *testing.T, o Options, env map[string]string) (*workflow, error) {
	t.Helper()
	w := &workflow{dir: t.TempDir()}
	in := func(text string) string { return strings.ReplaceAll(text, "DIR", w.dir) }
	var streams *ui.Streams
	streams, w.out, w.stderr = ui.Test()
	streams.Env = func(name string) string { return in(env[name]) }
	o.JUnit, o.To = in(o.JUnit), reportTo(in(string(o.To)))
	var err error
	w.Reporter, err = New(&console.Console{Streams: streams}, "1.2", o, "taskrun up", ui.Plain)
	return w, err
}

func (w *workflow) text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func wants(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	if len(parts) == 0 && text != "" {
		t.Errorf("%s: %q, want nothing", what, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q is missing in %q", what, part, text)
		}
	}
}

func diagnostic(severity jobspec.Severity, summary, file string) jobspec.Diagnostic {
	d := jobspec.Diagnostic{Severity: severity, Summary: summary}
	d.Range.File, d.Range.Start.Line, d.Range.Start.Column, d.Range.End.Line, d.Range.End.Column = file, 3, 1, 3, 5
	return d
}

// files are the files of one job.
func files(t *testing.T, name string) []jobfile.File {
	t.Helper()
	text := "job \"web\" {\n  group \"a\" {\n    task \"x\" {\n      driver = \"mock\"\n    }\n  }\n  group \"b\" {\n    task \"y\" {\n      driver = \"mock\"\n    }\n    task \"z\" {\n      driver = \"mock\"\n    }\n  }\n}\n"
	f, diagnostics := jobspec.Parse(jobspec.Source{Name: name, Text: []byte(text)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	return []jobfile.File{{File: &jobspec.File{}, Name: "empty.hcl"}, {File: f, Name: name}}
}

func TestReportTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"github": true, "gitlab": true, "gitlab=report.json": true, "none": true,
		"": false, "gitlab=": false, "github=x": false, "none=": false, "jenkins": false,
	} {
		var to reportTo
		err := to.Set(text)
		if (err == nil) != want || want && to.String() != text {
			t.Errorf("%q: %q, %v", text, to, err)
		}
		if err != nil && err.Error() != fmt.Sprintf("%q is not one of github, gitlab, gitlab=FILE, none", text) {
			t.Error(err)
		}
	}
	if got := new(reportTo).Type(); got != "system" {
		t.Errorf("its type is %q", got)
	}
}

// The environment of GitHub Actions selects its reports, unless a flag does.
func TestSystem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		to, actions, project string
		github               bool
		quality              string
	}{
		{"", "", "", false, ""},
		{"", "true", "", true, ""},
		{"github", "", "", true, ""},
		{"none", "true", "", false, ""},
		{"gitlab=DIR/q.json", "true", "", false, "q.json"},
		{"gitlab", "", "DIR", false, "gl-code-quality-report.json"},
	} {
		w, err := begin(t, Options{To: reportTo(tt.to)}, map[string]string{"GITHUB_ACTIONS": tt.actions, "CI_PROJECT_DIR": tt.project})
		if err != nil {
			t.Fatal(err)
		}
		if quality := strings.TrimPrefix(w.quality, w.dir+"/"); w.github != tt.github || quality != tt.quality {
			t.Errorf("%+v: github %v, code quality in %q", tt, w.github, quality)
		}
		if _, guarded := w.Streams.Out.(*report.Guard); guarded != tt.github {
			t.Errorf("%+v: the streams are guarded: %v", tt, guarded)
		}
	}
}

func TestReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{JUnit: "DIR/none/x.xml"}, {To: "gitlab=DIR/none/x.xml"}} {
		w, err := begin(t, o, nil)
		var known *exit.Error
		if !errors.As(err, &known) || w.Reporter != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		want := fmt.Sprintf("cannot write a report to %q: no such file or directory", filepath.Join(w.dir, "none", "x.xml"))
		if known.Code != verdict.Usage || known.Error() != want || known.Hint != "choose a file in a folder that you can write to" {
			t.Errorf("%+v: %v, %q", o, err, known.Hint)
		}
	}
}

// Without a reporter nothing is reported.
func TestNoReporter(t *testing.T) {
	t.Parallel()
	var r *Reporter
	r.CloseSection()
	if err := r.Found(nil, nil); err != nil {
		t.Error(err)
	}
	failure := errors.New("failed")
	if err := r.Ended(Ending{}, failure); !errors.Is(err, failure) {
		t.Error(err)
	}
}

// Warnings are annotations, and with errors the command ends with reports that say so.
func TestFoundOnGitHub(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{JUnit: "DIR/junit.xml"}, map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "DIR/summary.md", "GITHUB_WORKSPACE": "DIR",
	})
	if err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(w.dir, "web.hcl")
	if err := w.Found(files(t, job), jobspec.Diagnostics{diagnostic(jobspec.Warning, "odd", job)}); err != nil {
		t.Fatal(err)
	}
	wants(t, "stderr", w.stderr.String(), "::warning file=web.hcl,line=3,col=1,endLine=3,endColumn=5::odd\n")
	wants(t, "summary", w.text(t, "summary.md"))
	wants(t, "JUnit", w.text(t, "junit.xml"))
	if err := w.Found(files(t, job), jobspec.Diagnostics{diagnostic(jobspec.Error, "wrong", job)}); err != nil {
		t.Fatal(err)
	}
	wants(t, "stderr", w.stderr.String(), "::error file=web.hcl,line=3,col=1,endLine=3,endColumn=5::wrong\n")
	wants(t, "summary", w.text(t, "summary.md"), "wrong")
	wants(t, "JUnit", w.text(t, "junit.xml"), `name="taskrun up"`, "wrong", "1.2")
}

func TestFewAnnotations(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{To: "github"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	many := make(jobspec.Diagnostics, maxAnnotations+1)
	for i := range many {
		many[i] = diagnostic(jobspec.Warning, "odd", "web.hcl")
	}
	if err := w.Found(nil, many); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.stderr.String(), "::warning "); n != maxAnnotations {
		t.Errorf("%d annotations, want %d", n, maxAnnotations)
	}
}

// On GitLab the lines of a run are a section of the log, whose header names the jobs.
func TestFoundOnGitLab(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{To: "gitlab"}, map[string]string{"CI_PROJECT_DIR": "DIR"})
	if err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(w.dir, "web.hcl")
	found := jobspec.Diagnostics{diagnostic(jobspec.Warning, "odd", job), {Severity: jobspec.Warning, Summary: "nowhere"}}
	if err := w.Found(files(t, job), found); err != nil {
		t.Fatal(err)
	}
	w.CloseSection()
	wants(t, "a command without a run", w.stderr.String())
	quality := w.text(t, "gl-code-quality-report.json")
	wants(t, "code quality", quality, `"description": "odd"`, `"path": "web.hcl"`, `"description": "nowhere"`, `"path": "empty.hcl"`)
	w.Sections = true
	if err := w.Found(files(t, job), nil); err != nil {
		t.Fatal(err)
	}
	w.CloseSection()
	w.CloseSection()
	section := regexp.MustCompile(`^\x1b\[0Ksection_start:\d+:(taskrun_\d+)\[collapsed=true\]\r\x1b\[0Ktaskrun up web\n\x1b\[0Ksection_end:\d+:(taskrun_\d+)\r\x1b\[0K\n$`)
	if m := section.FindStringSubmatch(w.stderr.String()); len(m) != 3 || m[1] != m[2] || m[1] != fmt.Sprintf("taskrun_%d", w.began.UnixMilli()) {
		t.Errorf("section %q", w.stderr)
	}
	w.stderr.Reset()
	if err := w.Found(files(t, job), jobspec.Diagnostics{diagnostic(jobspec.Error, "wrong", job)}); err != nil {
		t.Fatal(err)
	}
	wants(t, "a refused command", w.stderr.String())
	w.quality = filepath.Join(w.dir, "none", "x.json")
	want := fmt.Sprintf("cannot write the report to %q: no such file or directory", w.quality)
	if err := w.Found(nil, nil); err == nil || err.Error() != want {
		t.Errorf("where it cannot write: %v", err)
	}
}

// Paths in a report of GitLab are relative to the project, or else to the current folder.
func TestPathsOnGitLab(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{To: "gitlab=DIR/q.json"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Found(nil, jobspec.Diagnostics{diagnostic(jobspec.Hint, "odd", filepath.Join(here, "sub", "web.hcl"))}); err != nil {
		t.Fatal(err)
	}
	wants(t, "code quality", w.text(t, "q.json"), `"path": "sub/web.hcl"`)
}

func TestEnded(t *testing.T) {
	t.Parallel()
	id, name := "web", "a"
	ended := func() Ending {
		run := fold.New([]*api.Job{{ID: &id, TaskGroups: []*api.TaskGroup{{Name: &name, Tasks: []*api.Task{{Name: "x"}}}}}})
		return Ending{Run: run, Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Output: func(string, string) []string { return nil }}
	}
	w, err := begin(t, Options{JUnit: "DIR/junit.xml", To: "github"}, map[string]string{"GITHUB_STEP_SUMMARY": "DIR/summary.md"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ended(ended(), nil); err != nil {
		t.Error(err)
	}
	wants(t, "stderr of a success", w.stderr.String())
	wants(t, "JUnit", w.text(t, "junit.xml"), `timestamp="2026-01-02T03:04:05"`, `name="taskrun up"`)
	w.files = files(t, "web.hcl")
	failure := exit.Failed("the timeout has passed")
	if err := w.Ended(ended(), failure); !errors.Is(err, failure) {
		t.Error(err)
	}
	wants(t, "stderr of a failure", w.stderr.String(), "::error file=web.hcl,line=1,", "the timeout has passed")
	wants(t, "summary", w.text(t, "summary.md"), "the timeout has passed")
	w.stderr.Reset()
	known := ended()
	known.Result.Cause = "the cause"
	if err := w.Ended(known, failure); !errors.Is(err, failure) {
		t.Error(err)
	}
	wants(t, "a cause that is known", w.stderr.String(), "the cause")
	w.stderr.Reset()
	if err := w.Ended(ended(), exit.Silent(7)); exit.Code(err) != 7 {
		t.Error(err)
	}
	wants(t, "a silent error", w.stderr.String(), "::job web ended after <1ms, exit code 7\n")
	w.junit = filepath.Join(w.dir, "none", "x.xml")
	if err := w.Ended(ended(), nil); err == nil || !strings.HasPrefix(err.Error(), "cannot write the report to ") {
		t.Errorf("where it cannot write: %v", err)
	}
	if err := w.Ended(ended(), failure); !errors.Is(err, failure) {
		t.Errorf("the first error counts: %v", err)
	}
}

// A command does not fail because of its summary.
func TestNoSummary(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{To: "github"}, map[string]string{"GITHUB_STEP_SUMMARY": "DIR"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Tested("Tests", nil, nil, nil, nil, nil); err != nil {
		t.Error(err)
	}
	wants(t, "stderr", w.stderr.String(), fmt.Sprintf("warning: cannot add to the step summary %q: ", w.dir))
	w, err = begin(t, Options{To: "none"}, map[string]string{"GITHUB_STEP_SUMMARY": "DIR/summary.md"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Tested("Tests", nil, nil, nil, nil, nil); err != nil {
		t.Error(err)
	}
	wants(t, "summary without GitHub", w.text(t, "summary.md"))
}

func TestPlace(t *testing.T) {
	t.Parallel()
	r := &Reporter{files: files(t, "web.hcl")}
	for _, tt := range []struct {
		job, group, task string
		line             int
	}{
		{"web", "", "", 1},
		{"web", "a", "", 2},
		{"web", "a", "x", 3},
		{"web", "b", "y", 8},
		{"web", "b", "z", 11},
		{"web", "b", "none", 7},
		{"web", "none", "x", 0},
		{"db", "", "", 0},
		{"", "", "", 0},
	} {
		if got := r.place(tt.job, tt.group, tt.task).Start.Line; got != tt.line {
			t.Errorf("%+v: line %d", tt, got)
		}
	}
}

// Reports of tests have the diagnostics of their files, and the failures.
func TestTested(t *testing.T) {
	t.Parallel()
	w, err := begin(t, Options{JUnit: "DIR/junit.xml", To: "github"}, map[string]string{"GITHUB_STEP_SUMMARY": "DIR/summary.md"})
	if err != nil {
		t.Fatal(err)
	}
	suites := []report.Suite{{Name: "a.test.hcl", Cases: []report.Case{{Name: "passes"}}}}
	failures := jobspec.Diagnostics{diagnostic(jobspec.Error, "differs", "a.test.hcl")}
	if err := w.Tested("The tests", nil, jobspec.Diagnostics{diagnostic(jobspec.Warning, "odd", "a.test.hcl")}, failures, suites, nil); err != nil {
		t.Error(err)
	}
	wants(t, "stderr", w.stderr.String(), "::warning file=a.test.hcl,line=3,col=1,endLine=3,endColumn=5::odd\n::error file=a.test.hcl,line=3,col=1,endLine=3,endColumn=5::differs\n")
	wants(t, "summary", w.text(t, "summary.md"), "The tests", "passes")
	wants(t, "JUnit", w.text(t, "junit.xml"), `tests="1"`, "passes")
	failure := exit.Failed("failed")
	if err := w.Tested("The tests", nil, failures, nil, suites, failure); !errors.Is(err, failure) {
		t.Error(err)
	}
	wants(t, "JUnit of what is wrong", w.text(t, "junit.xml"), `tests="2"`, "differs", "passes")
	w, err = begin(t, Options{To: "gitlab=DIR/q.json"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Tested("The tests", nil, nil, failures, suites, nil); err != nil {
		t.Error(err)
	}
	wants(t, "code quality", w.text(t, "q.json"), `"description": "differs"`)
	wants(t, "stderr on GitLab", w.stderr.String())
}

// GitHub may read what is not a regular file, and must find no commands in it.
func TestReportToAPipe(t *testing.T) {
	t.Parallel()
	for github, want := range map[bool]string{false: "::error::x\n", true: "::\\error::x\n"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reporter := &Reporter{github: github}
		err = errors.Join(reporter.save(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), []byte("::error::x\n")), w.Close())
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("there is no /proc")
		}
		text := make([]byte, 100)
		n, readErr := r.Read(text)
		if err != nil || readErr != nil || string(text[:n]) != want {
			t.Errorf("on GitHub %v: %q, %v, %v", github, text[:n], err, readErr)
		}
		r.Close()
	}
}
