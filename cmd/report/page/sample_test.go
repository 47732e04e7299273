package page

import (
	"fmt"
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

var began = time.Date(2026, 5, 4, 8, 30, 0, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * 1e9)) }

// sample returns a run with a number of tasks, and their output: each tenth task
// flaps, each fifteenth one fails.
func sample(tasks int) (*trace.Trace, []Output) {
	t := &trace.Trace{Jobs: []string{"shop"}, Begin: began, Status: "complete"}
	var output []Output
	zero, three := 0, 3
	end := 0.0
	for i := range tasks {
		group, begin := i/4, float64(i/4)*.9
		r := &trace.Row{
			Alloc: &event.Alloc{Job: "shop", Group: "web", Name: fmt.Sprintf("shop.web[%d]", group), ID: fmt.Sprint(group)}, Task: []string{"migrate", "server", "proxy", "logs"}[i%4],
			Name: fmt.Sprintf("web[%d]/%s", group, []string{"migrate", "server", "proxy", "logs"}[i%4]), State: "dead", ExitCode: &zero,
		}
		if tasks == 1 {
			r.Name = "server"
		}
		add := func(kind trace.Kind, length float64, why string) {
			r.Spans = append(r.Spans, trace.Span{Kind: kind, From: at(begin), To: at(begin + length), For: why, Count: 1})
			begin += length
		}
		mark := func(kind trace.MarkKind, weight fold.Weight, title, detail string) {
			r.Marks = append(r.Marks, trace.Mark{Time: at(begin), Kind: kind, Title: title, Detail: detail, Weight: weight})
		}
		mark(trace.TaskEvent, fold.Ordinary, "Received", "Task received by client")
		if i%4 > 0 {
			add(trace.Waiting, .8+.3*float64(i%7), "migrate")
		}
		mark(trace.TaskEvent, fold.Ordinary, "Task Setup", "Building Task Directory")
		add(trace.Setup, .3+.1*float64(i%3), "artifacts")
		mark(trace.TaskEvent, fold.Ordinary, "Started", "Task started by client")
		if i%10 == 5 {
			for range 4 {
				add(trace.Running, .5, "")
				mark(trace.TaskEvent, fold.Trouble, "Terminated", `Exit Code: 1, Exit Message: "Docker container exited"`)
				add(trace.Restarting, .4, "")
				mark(trace.TaskEvent, fold.Setback, "Restarting", "Task restarting in 400ms")
				r.Restarts++
			}
		}
		add(trace.Running, .6, "")
		mark(trace.Check, fold.Ordinary, "http-alive", "pending → success: HTTP OK http://127.0.0.1:8080")
		add(trace.Running, 1.4+.7*float64(i%5), "")
		if i%15 == 13 {
			r.Failed, r.ExitCode, t.Status = true, &three, "failed"
			mark(trace.TaskEvent, fold.Trouble, "Not Restarting", "Exceeded allowed attempts 2 in interval 30m0s and mode is \"fail\"")
		} else {
			mark(trace.TaskEvent, fold.Ordinary, "Killing", "Sent interrupt. Waiting 5s before force killing")
			add(trace.Stopping, .25, "")
			mark(trace.TaskEvent, fold.Ordinary, "Terminated", "Exit Code: 0")
		}
		o := Output{AllocID: r.Alloc.ID, Task: r.Task}
		for n := range 30 {
			o.Lines = append(o.Lines, Line{Time: at(float64(group)*.9 + 1.2 + .11*float64(n)), Stderr: n%9 == 8, Text: fmt.Sprintf(`level=info msg="request served" path=/cart/%d status=200 took=%dms`, n, n*7%40)})
		}
		if i%2 == 1 {
			o.LeftOut = "1240 earlier lines are not in this page."
		}
		output = append(output, o)
		t.Rows = append(t.Rows, r)
		end = max(end, begin)
	}
	last := t.Rows[len(t.Rows)-1]
	for i := 0; i < len(t.Rows); i += max(1, len(t.Rows)/5) {
		r := t.Rows[i]
		from := at(0)
		if n := len(t.Critical); n > 0 {
			from = t.Critical[n-1].To
		}
		if to := r.Spans[len(r.Spans)-1].To; to.After(from) {
			t.Critical = append(t.Critical, trace.Step{Row: r, Kind: trace.Running, Count: 1, From: from, To: to})
		}
	}
	t.End = at(end)
	if n := len(t.Critical); n > 0 && t.Critical[n-1].To.Before(t.End) && len(t.Rows) > 1 {
		t.Critical = append(t.Critical, trace.Step{Row: last, Kind: trace.Running, Count: 1, From: t.Critical[n-1].To, To: last.Spans[len(last.Spans)-1].To})
	}
	t.Length = t.End.Sub(t.Begin)
	t.Marks = []trace.Mark{
		{Time: at(.2), Kind: trace.Deployment, Title: "Deployment running", Detail: "Deployment is running", Weight: fold.Ordinary},
		{Time: at(end * .7), Kind: trace.Deployment, Title: "Deployment successful", Detail: "Deployment completed successfully", Weight: fold.Ordinary},
	}
	return t, output
}

// large returns a run of 200 tasks with 100,000 events.
func large() *trace.Trace {
	t := &trace.Trace{Jobs: []string{"flapping"}, Begin: began, End: at(5000), Status: "failed", Length: 5000 * time.Second}
	for i := range 200 {
		r := &trace.Row{Alloc: &event.Alloc{ID: fmt.Sprint(i)}, Task: "server", Name: fmt.Sprintf("web[%d]/server", i), State: "dead", Failed: true, Restarts: 250}
		for n := range 250 {
			begin := float64(n) * 20
			r.Spans = append(r.Spans, trace.Span{Kind: trace.Running, From: at(begin), To: at(begin + 13), Count: 1}, trace.Span{Kind: trace.Restarting, From: at(begin + 13), To: at(begin + 20), Count: 1})
			r.Marks = append(r.Marks,
				trace.Mark{Time: at(begin), Kind: trace.TaskEvent, Title: "Started", Detail: "Task started by client"},
				trace.Mark{Time: at(begin + 13), Kind: trace.TaskEvent, Title: "Terminated", Detail: fmt.Sprintf("Exit Code: %d", n%7), Weight: fold.Trouble})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
