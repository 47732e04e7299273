package answer

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares output with a file, in which escape bytes are escaped.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	text := strings.ReplaceAll(string(got), "\x1b", "␛")
	text = strings.ReplaceAll(text, "\r", "␍")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s is not what was shown (-want +got); go test -update writes it:\n%s", path, diff)
	}
}

// status has a job with tasks in every state, and one that waits.
func status() Status {
	long := "a-group-with-a-name[12]/and-a-task-with-a-long-one"
	at := func(d time.Duration) *time.Time { t := begin.Add(d); return &t }
	code := func(n int) *int { return &n }
	task := func(label, state string, ran time.Duration) TaskStatus {
		return TaskStatus{
			Origin: ui.Origin{Job: "shop", Group: "app", Alloc: "shop.app[0]", AllocID: "11111111-2222-3333-4444-555555555555", Task: label},
			Label:  label, TaskState: event.TaskState{State: state}, StartedAt: at(0), Ran: ran,
		}
	}
	st := Status{
		Jobs: []JobStatus{
			{Job: "shop", Status: "running", PID: 4711, Socket: "/run/taskrun/shop-4711.sock"},
			{Job: "nightly-reports-of-everything", Status: "running", PID: 4712, Socket: "/run/taskrun/n-4712.sock"},
		},
		Allocs: []AllocStatus{{
			Origin: ui.Origin{Job: "shop", Group: "app", Alloc: "shop.app[0]", AllocID: "11111111-2222-3333-4444-555555555555"},
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
		{Origin: ui.Origin{Job: "shop"}, Name: "web", Address: "127.0.0.1", Port: 20123, Tags: []string{"v1"}, Registered: true},
		{Origin: ui.Origin{Job: "nightly-reports-of-everything"}, Name: "a-service-with-quite-a-long-name", Address: "127.0.0.1", Port: 80, Tags: []string{}, Registered: true},
	}
	return st
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode    ui.Mode
		color   ui.ColorMode
		columns int // 0: a pipe
	}{
		"status-pipe":  {ui.Plain, ui.ColorAuto, 0},
		"status-80":    {ui.Plain, ui.ColorNever, 80},
		"status-40":    {ui.Plain, ui.ColorNever, 40},
		"status-color": {ui.Plain, ui.ColorAuto, 100},
		"status-json":  {ui.JSON, ui.ColorAuto, 80},
		"status-quiet": {ui.Quiet, ui.ColorAuto, 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, out, _ := ui.Test()
			if c.columns > 0 {
				terminal(streams, c.columns)
			}
			if err := WriteStatus(To{streams, c.mode, c.color, begin}, status()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
			for line := range bytes.Lines(out.Bytes()) {
				if c.mode == ui.Plain && c.color == ui.ColorNever && len([]rune(string(line))) > c.columns+1 {
					t.Errorf("too wide: %s", line)
				}
			}
		})
	}
}

// ps shows the namespaces of jobs if there are several, and lists jobs without
// tasks.
func TestStatusOfSeveralNamespaces(t *testing.T) {
	t.Parallel()
	st := Status{
		Jobs:  []JobStatus{{Job: "a", Namespace: "x", Status: "running"}, {Job: "a", Namespace: "y", Status: "pending"}, {Job: "b", Status: "dead"}},
		Tasks: []TaskStatus{{Origin: ui.Origin{Job: "a", Namespace: "x", Task: "t", AllocID: "1234"}, Label: "t", TaskState: event.TaskState{State: "running", Failed: true}}},
	}
	const wide = "JOB  TASK  STATE    ALLOC  EXIT  RESTARTS  DURATION\na@x  t     running  1234      -         0         -\na@y  -     pending  -         -         -         -\nb    -     dead     -         -         -         -\n"
	for width, want := range map[int]string{
		0:  wide,
		60: wide,
		59: "JOB  TASK  STATE    EXIT  RST  TIME\na@x  t     running     -    0     -\na@y  -     pending     -    -     -\nb    -     dead        -    -     -\n",
	} {
		s, out, _ := ui.Test()
		if width > 0 {
			terminal(s, width)
		}
		if err := WriteStatus(To{s, ui.Plain, ui.ColorNever, begin}, st); err != nil {
			t.Error(err)
		}
		written(t, out, want)
	}
	st.Jobs[1].Namespace, st.Jobs = "x", st.Jobs[:2]
	if got := st.jobs()("x", "a"); got != "a" {
		t.Errorf("in one namespace it is %q", got)
	}
}

// A task that failed once and is running again is shown as running.
func TestPaintOfTasks(t *testing.T) {
	t.Parallel()
	style := ui.NewStyle(true)
	for _, c := range []struct {
		task  TaskStatus
		state string
		paint func(string) string
	}{
		{TaskStatus{TaskState: event.TaskState{State: "running", Failed: true}}, "running", style.Good},
		{TaskStatus{TaskState: event.TaskState{State: "pending", Failed: true}}, "pending", style.Waiting},
		{TaskStatus{TaskState: event.TaskState{State: "dead", Failed: true}}, "failed", style.Bad},
		{TaskStatus{TaskState: event.TaskState{State: "dead"}}, "dead", style.Quiet},
	} {
		if got := c.task.state(); got != c.state || c.task.paint(style)("x") != c.paint("x") {
			t.Errorf("%+v: %s, painted %q", c.task, got, c.task.paint(style)("x"))
		}
	}
}
