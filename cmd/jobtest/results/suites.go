package results

import (
	"fmt"
	"os"
	"strings"

	"taskrun/cmd/console"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/worker"
	"taskrun/cmd/report"
	"taskrun/cmd/ui"
)

// Suites returns the results as suites of JUnit, one for each file.
func (v *View) Suites() (suites []report.Suite) {
	host, _ := os.Hostname() // a report does without
	for i, p := range v.runs {
		if i == 0 || v.runs[i-1].File != p.File {
			suites = append(suites, report.Suite{Name: p.File.Path, Began: v.began, Host: host, Properties: []report.Property{
				{Name: "taskrun.version", Value: v.opts.Version}, {Name: "seed", Value: v.seed()},
			}})
		}
		s := &suites[len(suites)-1]
		s.Cases = append(s.Cases, v.testCase(i))
		s.Properties = append(s.Properties, report.Property{Name: "mode." + p.Run.Name, Value: string(p.Run.Mode)})
		if r := v.results[i]; r != nil && p.Run.Mode == jobtest.Virtual {
			s.Properties = append(s.Properties, report.Property{Name: "virtual_time." + p.Run.Name, Value: r.Elapsed.String()})
		}
	}
	return suites
}

func (v *View) testCase(i int) report.Case {
	p, r := v.runs[i], v.results[i]
	c := report.Case{Class: p.File.Path, Name: p.Run.Name}
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
func junitFailures(p Planned, r *worker.Result) (list []report.Failed) {
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
