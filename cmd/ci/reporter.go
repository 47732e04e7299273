// Package ci writes the reports of a command for a CI system: annotations, summaries and
// sections of logs, JUnit and code quality.
package ci

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/report"
	"taskrun/cmd/textfile"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/jobspec"
)

// Options are the flags of commands that report to a CI system.
type Options struct {
	JUnit string // path of a report in JUnit XML; empty: none
	To    reportTo
}

// reportTo is the value of --report: "", github, gitlab, gitlab=FILE or none.
type reportTo string

func (t *reportTo) String() string { return string(*t) }

func (t *reportTo) Set(text string) error {
	if kind, file, named := strings.Cut(text, "="); kind == "gitlab" && (!named || file != "") || !named && (kind == "github" || kind == "none") {
		*t = reportTo(text)
		return nil
	}
	return fmt.Errorf("%q is not one of github, gitlab, gitlab=FILE, none", text)
}

func (t *reportTo) Type() string { return "system" }

// Reporter writes the reports of one command. All its methods accept nil, which
// reports nothing.
type Reporter struct {
	*console.Console
	version string
	command string
	junit   string
	github  bool
	quality string // path of the code quality report of GitLab; empty: none

	Sections bool   // the command shows a run
	section  string // the open section of GitLab's log; empty: none
	err      io.Writer

	began       time.Time
	files       []jobfile.File
	diagnostics jobspec.Diagnostics
}

// New returns the reporter of a command, before anything starts. It
// refuses paths that cannot be written to. In a workflow of GitHub Actions it also
// sees to it that GitHub takes no output of tasks for commands.
func New(c *console.Console, version string, o Options, command string, mode ui.Mode) (*Reporter, error) {
	r := &Reporter{Console: c, version: version, command: command, junit: o.JUnit, began: time.Now(), err: c.Streams.Err}
	kind, file, _ := strings.Cut(string(o.To), "=")
	r.github = kind == "github" || kind == "" && c.Streams.Env("GITHUB_ACTIONS") == "true"
	if kind == "gitlab" {
		r.quality = cmp.Or(file, filepath.Join(c.Streams.Env("CI_PROJECT_DIR"), report.CodeQualityFile))
	}
	for _, name := range []string{r.junit, r.quality} {
		if name == "" {
			continue
		}
		if err := textfile.Check(name); err != nil {
			return nil, exit.Usage("cannot write a report to %q: %w", name, err).WithHint("choose a file in a folder that you can write to")
		}
	}
	if r.github {
		c.GuardStreams(mode)
	}
	return r, nil
}

// inRepository returns the path of a file as the CI system knows it.
func (r *Reporter) inRepository(file string) string {
	if r.quality != "" {
		dir, _ := os.Getwd() // without one, paths stay as they are
		return console.RelativeTo(cmp.Or(r.Streams.Env("CI_PROJECT_DIR"), dir), file)
	}
	return r.InWorkspace(file)
}

// Found reports the diagnostics of files. With errors among them, nothing else will
// be reported.
func (r *Reporter) Found(files []jobfile.File, diagnostics jobspec.Diagnostics) error {
	if r == nil {
		return nil
	}
	r.files, r.diagnostics = files, diagnostics
	if r.github {
		r.annotate(diagnostics)
	}
	if err := r.writeQuality(diagnostics); err != nil {
		return err
	}
	if !diagnostics.HasErrors() {
		r.openSection()
		return nil
	}
	r.CloseSection() // a cluster refuses later than this machine
	facts := r.facts(view.Result{ExitCode: verdict.Usage})
	text := func(d jobspec.Diagnostic) string { return console.AsText(d, files) }
	r.summarize(func(room int) string { return report.RefusedSummary(facts, text, room) })
	return r.writeJUnit(report.Refused(facts, text))
}

// maxAnnotations limits the annotations of a command. GitHub shows fewer.
const maxAnnotations = 50

func (r *Reporter) annotate(diagnostics jobspec.Diagnostics) {
	for _, d := range diagnostics[:min(len(diagnostics), maxAnnotations)] {
		fmt.Fprintln(r.err, report.Annotation(d, r.inRepository))
	}
}

func (r *Reporter) writeQuality(diagnostics jobspec.Diagnostics) error {
	if r.quality == "" {
		return nil
	}
	first := ""
	if len(r.files) > 0 {
		first = r.files[0].Name
	}
	return r.save(r.quality, report.CodeQuality(diagnostics, first, r.inRepository))
}

func (r *Reporter) writeJUnit(suites []report.Suite) error {
	if r.junit == "" {
		return nil
	}
	return r.save(r.junit, report.JUnit(r.command, suites))
}

func (r *Reporter) save(name string, text []byte) error {
	if info, err := os.Stat(name); r.github && err == nil && !info.Mode().IsRegular() { // GitHub may read it
		var guarded bytes.Buffer
		_, _ = (&report.Guard{To: &guarded}).Write(text) // memory does not fail
		text = guarded.Bytes()
	}
	if err := textfile.Save(name, text); err != nil {
		return fmt.Errorf("cannot write the report to %q: %w", name, err)
	}
	return nil
}

// summarize adds to the summary of the step of a workflow. Without that the
// command does not fail.
func (r *Reporter) summarize(text func(room int) string) {
	name := r.Streams.Env("GITHUB_STEP_SUMMARY")
	if !r.github || name == "" {
		return
	}
	if err := textfile.Append(name, report.MaxStepSummary, text); err != nil {
		r.Warn(fmt.Errorf("cannot add to the step summary %q: %w", name, err))
	}
}

// openSection begins a section of GitLab's log. The lines of a run are in it; the
// closing table is not.
func (r *Reporter) openSection() {
	if r.quality == "" || !r.Sections {
		return
	}
	r.section = fmt.Sprintf("taskrun_%d", r.began.UnixMilli())
	var jobs []string
	for _, j := range jobfile.Jobs(r.files) {
		jobs = append(jobs, *j.ID)
	}
	_, _ = io.WriteString(r.Streams.Err, report.SectionStart(time.Now(), r.section, r.command+" "+strings.Join(jobs, ", "), true))
}

// CloseSection ends the section, before the closing table.
func (r *Reporter) CloseSection() {
	if r != nil && r.section != "" {
		_, _ = io.WriteString(r.Streams.Err, report.SectionEnd(time.Now(), r.section))
		r.section = ""
	}
}

// Ending is how a run ended.
type Ending struct {
	Run    *fold.Run
	Began  time.Time
	Result view.Result
	Output func(allocID, task string) []string
}

// Ended reports a run that has ended, or was left, with an error. It returns the
// error or else that of a report.
func (r *Reporter) Ended(e Ending, err error) error {
	if r == nil {
		return err
	}
	r.CloseSection()
	e.Result.ExitCode = exit.Code(err)
	if exit, ok := errors.AsType[*exit.Error](err); ok && exit.Err != nil && e.Result.Cause == "" {
		e.Result.Cause = exit.Error()
	}
	facts := r.facts(e.Result)
	facts.Began, facts.Output = e.Began, e.Output
	told := report.Of(e.Run, facts)
	if text := told.Annotation(r.inRepository); r.github && text != "" {
		fmt.Fprintln(r.err, text)
	}
	r.summarize(func(room int) string { return told.StepSummary(room, r.inRepository) })
	return cmp.Or(err, r.writeJUnit(told.Suites()))
}

// facts returns what the reports know besides the state of a run.
func (r *Reporter) facts(result view.Result) report.Facts {
	host, _ := os.Hostname() // a report does without
	return report.Facts{
		Command: r.command, Version: r.version, Host: host, Began: r.began, Result: result,
		Diagnostics: r.diagnostics, Place: r.place, Output: func(string, string) []string { return nil },
	}
}

// place returns where a task is in the job files, or a job if the task is empty.
func (r *Reporter) place(job, group, task string) jobspec.Range {
	for _, f := range r.files {
		if f.Job == nil || *f.Job.ID != job {
			continue
		}
		if task == "" && group == "" {
			return f.Positions[jobspec.Root]
		}
		for i, g := range f.Job.TaskGroups {
			if *g.Name != group {
				continue
			}
			path := jobspec.Root.Index("group", i)
			for k, t := range g.Tasks {
				if t.Name == task {
					return f.Positions[path.Index("task", k)]
				}
			}
			return f.Positions[path]
		}
	}
	return jobspec.Range{}
}

// Tested reports runs of tests: their suites, and the diagnostics of their files.
// It returns err or, if that is nil, the error of a report.
func (r *Reporter) Tested(title string, files []jobfile.File, diagnostics, failures jobspec.Diagnostics, suites []report.Suite, err error) error {
	r.files = files
	found := slices.Concat(diagnostics, failures)
	if r.github {
		r.annotate(found)
	}
	if diagnostics.HasErrors() {
		r.diagnostics = diagnostics
		wrong := report.Refused(r.facts(view.Result{ExitCode: exit.Code(err)}), func(d jobspec.Diagnostic) string { return console.AsText(d, r.files) })
		suites = append(wrong, suites...)
	}
	r.summarize(func(room int) string { return report.CasesSummary(title, suites, room) })
	return cmp.Or(err, r.writeQuality(found), r.writeJUnit(suites))
}
