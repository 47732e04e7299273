// Package outcome explains how a run ended: the cause, the first failure, and the
// remedy. The closing table, the summary and all reports use its words. It is pure.
package outcome

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"taskrun/cmd/prose"
	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// Result is how a run ended.
type Result struct {
	ExitCode int
	// Cause explains in a few words why the run was stopped. It is empty if the
	// run ended by itself.
	Cause string
	User  bool // the user stopped it
	Time  time.Time
}

// Output returns the last lines of a task's output without control characters,
// or nothing if they are not known.
type Output func(allocID, task string) []string

// Failure describes a failure in the way a user needs it first.
type Failure struct {
	Alloc      string `json:"alloc,omitempty"` // <job>.<group>[<index>]
	AllocID    string `json:"alloc_id,omitempty"`
	Task       string `json:"task,omitempty"`        // empty: only a check failed
	Event      string `json:"event,omitempty"`       // type of the event that explains it
	Message    string `json:"message,omitempty"`     // the failure in a few words
	Check      string `json:"check,omitempty"`       // name of a check that did not pass
	LastOutput string `json:"last_output,omitempty"` // of the task or else of the check

	Job, Group string   `json:"-"` // of the job file
	Hint       string   `json:"-"` // the remedy; may be empty
	Checked    *Checked `json:"-"` // the check; nil: none
}

// Checked is a check that did not pass when the run ended.
type Checked struct{ Service, Name, Status, Target, Output string }

// String describes the failed check in one line.
func (c *Checked) String() string {
	return fmt.Sprintf("check %q of service %q: %s", c.Name, c.Service, prose.OneLine(c.Status))
}

// Title returns one line that says what failed and why.
func (f *Failure) Title() string {
	if f.Task == "" {
		return prose.OneLine(fmt.Sprintf("%s: %s", f.Alloc, f.Message))
	}
	return prose.OneLine(fmt.Sprintf("task %q of %s failed: %s", f.Task, f.Alloc, f.Message))
}

// First returns what failed first in a job and its children, or in all jobs if
// job is empty. It returns nil if nothing failed.
func First(run *fold.Run, job string, r Result, output Output) *Failure {
	failure := run.FirstFailure()
	if job != "" {
		failure = run.FirstFailureOf(job)
	}
	check := firstCheck(run, job, r)
	switch {
	case failure != nil:
		f := Of(failure.Task, output)
		f.setCheck(check)
		return f
	case check != nil:
		a := check.Allocs[0]
		f := &Failure{Alloc: a.Name, AllocID: a.ID, Job: cmp.Or(a.Parent, a.Job), Group: a.Group}
		f.setCheck(check)
		f.Message, f.LastOutput = f.Checked.String(), lastPart(f.Checked.Output)
		return f
	}
	return nil
}

// Of returns the failure of a task.
func Of(t *fold.Task, output Output) *Failure {
	cause := t.Cause()
	return &Failure{
		Alloc: t.Alloc.Name, AllocID: t.Alloc.ID, Job: cmp.Or(t.Alloc.Parent, t.Alloc.Job), Group: t.Alloc.Group, Task: t.Name,
		Event: cause.Event, Message: Why(cause), Hint: Hint(cause),
		LastOutput: lastPart(strings.Join(output(t.Alloc.ID, t.Name), "\n")),
	}
}

func (f *Failure) setCheck(c *fold.FailingCheck) {
	if c != nil {
		f.Check = c.Check.Check
		f.Checked = &Checked{Service: c.Service, Name: c.Check.Check, Status: c.Status, Target: c.Target, Output: visible.Text(c.Output)}
	}
}

// FailingChecks returns the checks that explain the end of a run, if the run did
// not succeed and the user did not stop it.
func FailingChecks(run *fold.Run, r Result) []*fold.FailingCheck {
	if r.ExitCode == 0 || r.User {
		return nil
	}
	return run.FailingChecks()
}

func firstCheck(run *fold.Run, job string, r Result) *fold.FailingCheck {
	for _, c := range FailingChecks(run, r) {
		if job == "" || c.Allocs[0].Of(job) {
			return c
		}
	}
	return nil
}

// Limits of the last output of a failed task.
const (
	LastLines = 10
	lastBytes = 4 << 10
)

// lastPart returns the last lines of a text, within the limits.
func lastPart(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-LastLines):], "\n")
	if cut := len(text) - lastBytes; cut > 0 {
		text = strings.ToValidUTF8(text[cut:], "")
	}
	return text
}

// Reason explains in one line why the run of a job ended as it did.
func Reason(run *fold.Run, job string, r Result) string {
	first := First(run, job, r, func(string, string) []string { return nil })
	switch {
	case r.Cause != "" && (r.User || first == nil || first.Task == ""):
		return r.Cause
	case first != nil:
		return first.Title()
	case r.ExitCode == 0 || len(run.Jobs) > 1:
		return "all allocations are complete"
	}
	return "the run ended before all allocations were complete"
}

// Verdict returns a line that says how a run that began at a time has ended.
func Verdict(run *fold.Run, began time.Time, r Result) string {
	jobs := make([]string, len(run.Jobs))
	for i, j := range run.Jobs {
		jobs[i] = visible.String(*j.ID)
	}
	text := prose.Count(len(jobs), "job")
	if len(jobs) < 4 {
		text = strings.TrimSuffix("job "+strings.Join(jobs, ", "), " ")
	}
	took := "after " + prose.Duration(r.Time.Sub(began))
	switch {
	case r.Cause != "":
		text = fmt.Sprintf("%s stopped %s: %s", text, took, r.Cause)
	case r.ExitCode == 0:
		text = fmt.Sprintf("%s complete %s", text, took)
	case run.FirstFailure() != nil:
		text = fmt.Sprintf("%s failed %s", text, took)
	default:
		text = fmt.Sprintf("%s ended %s", text, took)
	}
	if r.ExitCode != 0 {
		text += fmt.Sprintf(", exit code %d", r.ExitCode)
	}
	return text
}

// Waited describes why a task has not run.
func Waited(w fold.Wait) string {
	state := "had not run"
	if !w.Task.Started.IsZero() {
		state = "was not running"
	}
	return state + ": it waited for " + visible.String(awaited(w))
}

// awaited names what a task waits for, as in `main tasks "a", "b"`.
func awaited(w fold.Wait) string {
	what := ""
	switch w.For {
	case fold.ItsStart:
		return "its start"
	case fold.ItsRestart:
		return "its restart"
	case fold.PrestartEnd:
		what = "the end of prestart task"
	case fold.SidecarStart:
		what = "the start of prestart sidecar"
	case fold.MainStart:
		what = "the start of main task"
	}
	if len(w.Tasks) > 1 {
		what += "s"
	}
	quoted := make([]string, len(w.Tasks))
	for i, name := range w.Tasks {
		quoted[i] = strconv.Quote(name)
	}
	return what + " " + strings.Join(quoted, ", ")
}
