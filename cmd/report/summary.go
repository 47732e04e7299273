package report

import (
	"fmt"
	"strconv"
	"strings"

	"taskrun/cmd/prose"
	"taskrun/jobspec"
)

// MaxStepSummary is how much a step may add to its summary, in bytes: GitHub shows
// nothing of a larger one.
const MaxStepSummary = 1 << 20

// Limits of a step summary.
const (
	maxSummaryTasks    = 200 // if there are more, those that did not fail are counted
	maxSummaryWarnings = 20
)

// StepSummary returns the run in Markdown, for the summary of a step in GitHub
// Actions, in at most room bytes. It is empty if not even the essentials fit.
func (r *Run) StepSummary(room int, relative func(string) string) string {
	head := "### " + mark(r.Result.ExitCode == 0) + " " + markdown(r.Command+": "+r.Verdict) + "\n"
	failure := ""
	if r.First != nil {
		failure = "\n" + r.First.markdown(relative)
	}
	return longest(room, head+"\n"+r.table()+failure+r.warnings(relative), head+failure, head)
}

// longest returns the first text that fits into room bytes with its last newline;
// "" if none does.
func longest(room int, texts ...string) string {
	for _, text := range texts {
		if len(text)+len("\n") <= room {
			return text + "\n"
		}
	}
	return ""
}

func mark(good bool) string {
	if good {
		return "✅"
	}
	return "❌"
}

// table returns a row for each task.
func (r *Run) table() string {
	total := 0
	for _, j := range r.Jobs {
		total += len(j.Tasks)
	}
	if total == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Allocation | Task | State | Exit code | Restarts | Duration |\n|---|---|---|---:|---:|---:|\n")
	rows, left := 0, 0
	for _, j := range r.Jobs {
		for _, t := range j.Tasks {
			if rows >= maxSummaryTasks || total > maxSummaryTasks && t.Failure == nil {
				left++
				continue
			}
			rows++
			b.WriteString(t.row())
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\nand %s\n", prose.Count(left, "more task"))
	}
	return b.String()
}

func (t Task) row() string {
	state, exit, took := t.State, "–", "–"
	if t.Failure != nil {
		state = "❌ " + state + ", failed"
	}
	if t.Replaced > 0 {
		state += fmt.Sprintf(", allocation replaced %d×", t.Replaced)
	}
	if t.ExitCode != nil {
		exit = strconv.Itoa(*t.ExitCode)
	}
	if t.Skipped == "" && t.Took > 0 {
		took = prose.Duration(t.Took)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s |\n", cell(t.Alloc), cell(t.Name), state, exit, t.Restarts, took)
}

// markdown returns what helps to understand the failure.
func (f *Failure) markdown(relative func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", markdown(f.Title()))
	if !f.At.IsZero() {
		fmt.Fprintf(&b, "\nat %s\n", code(fmt.Sprintf("%s:%d", relative(f.At.File), f.At.Start.Line)))
	}
	if c := f.Checked; c != nil {
		if f.Task != "" { // otherwise the title says it
			fmt.Fprintf(&b, "\n%s\n", markdown(c.String()))
		}
		if c.Target != "" {
			fmt.Fprintf(&b, "\nTarget: %s\n", code(c.Target))
		}
		if c.Output != "" && f.Task != "" {
			fmt.Fprintf(&b, "\nOutput of the check:\n\n%s", fenced(c.Output))
		}
	}
	if f.LastOutput != "" {
		fmt.Fprintf(&b, "\nLast output:\n\n%s", fenced(f.LastOutput))
	}
	if f.Hint != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown(f.Hint))
	}
	return b.String()
}

// warnings lists the warnings about the job files.
func (r *Run) warnings(relative func(string) string) string {
	var b strings.Builder
	n := 0
	for _, d := range r.Diagnostics {
		if d.Severity != jobspec.Warning {
			continue
		}
		if n++; n > maxSummaryWarnings {
			continue
		}
		at := ""
		if !d.Range.IsZero() {
			at = code(fmt.Sprintf("%s:%d", relative(d.Range.File), d.Range.Start.Line)) + " "
		}
		fmt.Fprintf(&b, "- ⚠️ %s%s\n", at, markdown(d.Summary))
	}
	if more := n - maxSummaryWarnings; more > 0 {
		fmt.Fprintf(&b, "- and %s\n", prose.Count(more, "more warning"))
	}
	if n > 0 {
		return "\n" + b.String()
	}
	return ""
}

// RefusedSummary returns the errors of job files of which nothing was started in
// Markdown, as many as fit into room bytes.
func RefusedSummary(f Facts, text func(jobspec.Diagnostic) string, room int) string {
	summary := fmt.Sprintf("### %s %s\n", mark(false), markdown(fmt.Sprintf("%s: nothing was started, %s", f.Command, prose.Count(len(f.Diagnostics.Errors()), "error"))))
	for _, d := range f.Diagnostics {
		block := "\n" + fenced(text(d))
		if len(summary)+len(block)+len("\n") > room {
			break
		}
		summary += block
	}
	return longest(room, summary)
}

// CasesSummary returns the cases of suites in Markdown, in at most room bytes.
func CasesSummary(title string, suites []Suite, room int) string {
	failed := false
	var table, failures strings.Builder
	table.WriteString("| File | Run | Result | Duration |\n|---|---|---|---:|\n")
	for _, s := range suites {
		for _, c := range s.Cases {
			result := "✅ passed"
			switch {
			case len(c.Failures) > 0:
				result = "❌ failed"
				if !failed {
					fmt.Fprintf(&failures, "\n**%s**\n\n%s", markdown(prose.OneLine(c.Name+": "+c.Failures[0].Message)), fenced(c.Failures[0].Body))
				}
				failed = true
			case c.Skipped != "":
				result = markdown(c.Skipped)
			}
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", cell(s.Name), cell(c.Name), result, prose.Duration(c.Took))
		}
	}
	head := "### " + mark(!failed) + " " + markdown(title) + "\n"
	return longest(room, head+"\n"+table.String()+failures.String(), head+failures.String(), head)
}
