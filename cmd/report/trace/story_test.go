package trace

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// begin is when all stories begin.
var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// story returns events from lines: the time since the beginning, the subject (a job,
// an allocation as GROUP[INDEX]:ID, or one of its tasks), and what happens.
func story(t testing.TB, lines string) (events []event.Event) {
	t.Helper()
	allocs := map[string]*event.Alloc{}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		after, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		place, task, _ := strings.Cut(words[1], "/")
		name, id, _ := strings.Cut(place, ":")
		e := event.Event{Seq: uint64(len(events) + 1), Time: begin.Add(after), Task: task}
		if strings.Contains(name, "[") {
			if id == "" {
				id = "1"
			}
			if e.Alloc = allocs[name+id]; e.Alloc == nil {
				group, _, _ := strings.Cut(name, "[")
				e.Alloc = &event.Alloc{Job: "job", Group: group, Name: "job." + name, ID: name + id}
				allocs[name+id] = e.Alloc
			}
		}
		if e.Body = body(t, name, words[2:]); e.Body == nil {
			t.Fatalf("nothing happens in %q", line)
		}
		events = append(events, e)
	}
	return events
}

// body returns the body of an event that words describe.
func body(t testing.TB, name string, words []string) event.Body {
	what, rest := words[0], strings.Join(words[1:], " ")
	of := func(e *api.TaskEvent) event.Body { return event.TaskEvent{TaskEvent: e} }
	switch what {
	case "received":
		return of(event.Received())
	case "setup":
		return of(event.Setup("Building Task Directory"))
	case "started":
		return of(event.Started())
	case "pending", "running", "dead", "lost":
		return event.TaskState{State: strings.Replace(what, "lost", "dead", 1), Failed: rest == "failed"}
	case "exit":
		code, err := strconv.Atoi(rest)
		if err != nil {
			t.Fatal(err)
		}
		return of(event.Terminated(code, 0, false, nil))
	case "restarting":
		delay, err := time.ParseDuration(rest)
		if err != nil {
			t.Fatal(err)
		}
		return of(event.Restarting(delay, "", true))
	case "main-dead":
		return of(event.MainTasksDead())
	case "killing":
		return of(event.Killing(5 * time.Second))
	case "killed":
		return of(event.Killed(nil))
	case "driver-failure":
		return of(event.DriverFailure(fmt.Errorf("no such %s", rest)))
	case "status":
		status, replaces, _ := strings.Cut(rest, " replaces ")
		if replaces != "" {
			replaces = name + replaces
		}
		return event.AllocStatus{Status: status, Description: "it is " + status, Replaces: replaces, Retry: -1}
	case "healthy":
		return event.AllocHealth{Healthy: true}
	case "unhealthy":
		return event.AllocHealth{}
	case "check":
		return event.Check{Service: "web", Check: "alive", Status: rest, Output: "connection refused"}
	case "service":
		return event.Service{ID: "1", Name: rest, Address: "127.0.0.1", Port: 80, Registered: true}
	case "deployment":
		return event.Deployment{Job: name, ID: "d", Status: rest, Description: "Deployment " + rest}
	case "version":
		n, err := strconv.Atoi(rest)
		if err != nil {
			t.Fatal(err)
		}
		return event.Version{Job: name, Number: uint64(n)}
	case "evaluation":
		return event.Evaluation{Job: name, ID: "e", Trigger: event.JobRegister}
	case "notice":
		return event.Notice{Text: rest}
	}
	return nil
}

// job returns a job with a group "app" of tasks, each written as NAME=STAGE or NAME.
func job(tasks ...string) *api.Job {
	g := &api.TaskGroup{Name: new("app")}
	for _, t := range tasks {
		name, stage, _ := strings.Cut(t, "=")
		task := &api.Task{Name: name, Driver: "mock_driver"}
		switch Stage(stage) {
		case "":
		case Sidecar:
			task.Lifecycle = &api.TaskLifecycle{Hook: api.TaskLifecycleHookPrestart, Sidecar: true}
		default:
			task.Lifecycle = &api.TaskLifecycle{Hook: stage}
		}
		g.Tasks = append(g.Tasks, task)
	}
	j := &api.Job{ID: new("job"), Name: new("job"), TaskGroups: []*api.TaskGroup{g}}
	j.Canonicalize()
	return j
}

// told returns a trace as text.
func told(t *Trace) string {
	var b strings.Builder
	since := func(at time.Time) time.Duration { return at.Sub(t.Begin) }
	live := ""
	if t.Live {
		live = ", live"
	}
	fmt.Fprintf(&b, "%s %v%s\n", t.Status, since(t.End), live)
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "%s: attempt %d, %s %s", r.Name, r.Attempt, r.Stage, r.State)
		if r.Merged > 0 {
			fmt.Fprintf(&b, " merged %d", r.Merged)
		}
		if r.ExitCode != nil {
			fmt.Fprintf(&b, " exit %d", *r.ExitCode)
		}
		if r.Failed {
			b.WriteString(" failed")
		}
		b.WriteString("\n")
		for _, s := range r.Spans {
			fmt.Fprintf(&b, "  %v-%v %v", since(s.From), since(s.To), s.Kind)
			if s.Open {
				b.WriteString(" open")
			}
			if s.Count != 1 {
				fmt.Fprintf(&b, " x%d", s.Count)
			}
			if s.For != "" {
				fmt.Fprintf(&b, " for %s", s.For)
			}
			if s.After != nil {
				fmt.Fprintf(&b, " after %s", s.After.Name)
			}
			b.WriteString("\n")
		}
		tellMarks(&b, t, r.Marks)
	}
	tellMarks(&b, t, t.Marks)
	if len(t.Critical) > 0 {
		fmt.Fprintf(&b, "critical %v:", t.Length)
	}
	for _, s := range t.Critical {
		name := "-"
		if s.Row != nil {
			name = s.Row.Name
		}
		fmt.Fprintf(&b, " %s %v %v", name, s.Kind, s.Took())
		if s.Count != 1 {
			fmt.Fprintf(&b, " x%d", s.Count)
		}
		b.WriteString(",")
	}
	return strings.TrimSuffix(b.String(), ",") + "\n"
}

// tellMarks writes the marks that are not ordinary events of tasks.
func tellMarks(b *strings.Builder, t *Trace, marks []Mark) {
	for _, m := range marks {
		if m.Kind != TaskEvent || m.Weight > 0 {
			fmt.Fprintf(b, "  %v %s %q %d\n", m.Time.Sub(t.Begin), m.Kind, m.Title, m.Weight)
		}
	}
}

func build(jobs []*api.Job, events []event.Event) *Builder {
	b := NewBuilder(jobs)
	for _, e := range events {
		b.Add(e)
	}
	return b
}
