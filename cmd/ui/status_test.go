package ui

import (
	"bytes"
	"testing"
	"time"
)

// status is of a job with tasks in every state, and of one that waits.
func status() Status {
	long := "a-group-with-a-name[12]/and-a-task-with-a-long-one"
	at := func(d time.Duration) *time.Time { t := begin.Add(d); return &t }
	code := func(n int) *int { return &n }
	task := func(label, state string, ran time.Duration) TaskStatus {
		return TaskStatus{
			Job: "shop", Group: "app", Alloc: "shop.app[0]", AllocID: "11111111-2222-3333-4444-555555555555",
			Task: label, Label: label, State: state, StartedAt: at(0), Ran: ran,
		}
	}
	st := Status{
		Time: begin,
		Jobs: []JobStatus{
			{Job: "shop", Status: "running", PID: 4711, Socket: "/run/taskrun/shop-4711.sock"},
			{Job: "nightly-reports-of-everything", Status: "running", PID: 4712, Socket: "/run/taskrun/n-4712.sock"},
		},
		Allocs: []AllocStatus{{
			Job: "shop", Group: "app", Alloc: "shop.app[0]", AllocID: "11111111-2222-3333-4444-555555555555",
			Status: "running", Description: "Tasks are running",
		}},
		Tasks: []TaskStatus{
			task("migrate", "dead", 12*time.Millisecond), task("web", "running", 26*time.Hour+3*time.Minute),
			task("cache", "dead", 1500*time.Millisecond), task(long, "pending", 0),
		},
	}
	st.Tasks[0].ExitCode, st.Tasks[0].FinishedAt = code(0), at(12*time.Millisecond)
	st.Tasks[2].ExitCode, st.Tasks[2].Failed, st.Tasks[2].Restarts = code(137), true, 3
	st.Tasks[3].StartedAt = nil
	st.Services = []ServiceStatus{
		{Job: "shop", Name: "web", Address: "127.0.0.1", Port: 20123, Tags: []string{"v1"}, Registered: true},
		{Job: "nightly-reports-of-everything", Name: "a-service-with-quite-a-long-name", Address: "127.0.0.1", Port: 80, Tags: []string{}, Registered: true},
	}
	return st
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode    Mode
		colour  ColourMode
		columns int // 0: a pipe
	}{
		"status-pipe":   {Plain, ColourAuto, 0},
		"status-80":     {Plain, ColourNever, 80},
		"status-40":     {Plain, ColourNever, 40},
		"status-colour": {Plain, ColourAuto, 100},
		"status-json":   {JSON, ColourAuto, 80},
		"status-quiet":  {Quiet, ColourAuto, 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, out, _ := Test()
			if c.columns > 0 {
				streams.OutTerm, streams.width = true, func() int { return c.columns }
				streams.Env = func(name string) string { return map[string]string{"TERM": "xterm"}[name] }
			}
			if err := WriteStatus(streams, c.mode, c.colour, status()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
			for line := range bytes.Lines(out.Bytes()) {
				if c.mode == Plain && c.colour == ColourNever && len([]rune(string(line))) > c.columns+1 {
					t.Errorf("too wide: %s", line)
				}
			}
		})
	}
}
