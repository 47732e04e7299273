package node

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/leaf/event"
	"taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A client that does not read the log loses lines, and is told how many.
func TestLostLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := api.NewTask("t", "mock_driver")
		task.Config = map[string]any{"run_for": "1h"}
		g := api.NewTaskGroup("g", 1)
		g.Tasks = []*api.Task{task}
		job := &api.Job{ID: new("job"), Type: new("batch"), TaskGroups: []*api.TaskGroup{g}}
		job.Canonicalize()
		node := &taskenv.Node{}
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()}, Hooks: catalog.New(catalog.Options{}), Node: node,
		})
		h := New(&render.Run{Engine: e, Machine: node}, Config{}, &Requests{})
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		alloc := e.Allocs()[0]
		lines, stop := h.follow(t.Context(), hclog.Info, false)
		signal := func(n int) {
			for range n {
				if err := alloc.Signal(t.Context(), "t", "SIGUSR1"); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		signal(monitored + 7)
		if n := len(lines); n != monitored {
			t.Errorf("%d lines wait, want %d", n, monitored)
		}
		for range 2 { // one for the next line, one for the number of lost lines
			<-lines
		}
		signal(1)
		for range monitored - 2 {
			if line := string(<-lines); !strings.Contains(line, "type=Signaling") {
				t.Fatalf("line %q", line)
			}
		}
		if line := string(<-lines); !strings.Contains(line, "[WARN]  taskrun: Monitor dropped logs during monitor request: count=7\n") {
			t.Errorf("line %q", line)
		}
		if line := string(<-lines); !strings.Contains(line, "type=Signaling") {
			t.Errorf("after it %q", line)
		}
		signal(1)
		if line := string(<-lines); !strings.Contains(line, "type=Signaling") || len(lines) > 0 {
			t.Errorf("then %q and %d more", line, len(lines))
		}
		stop()
		e.Kill()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A log line has one word for each value.
func TestLogLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		body event.Body
		json bool
		want string
	}{
		{event.Notice{Text: "hello"}, false, "2026-01-02T02:04:05.006Z [INFO]  taskrun: hello\n"},
		{event.Notice{Text: "hello"}, true, `{"@level":"info","@message":"hello","@module":"taskrun","@timestamp":"2026-01-02T02:04:05.006000Z"}` + "\n"},
		{event.Output{}, false, ""},
		{event.TaskState{State: "running"}, false, ""}, // below the level
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "a=b", DisplayMessage: ""}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event: type=a=b msg=""` + "\n"},
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: `"`, DisplayMessage: "a b"}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event: type="\"" msg="a b"` + "\n"},
		{event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "\a", DisplayMessage: "é"}}, false, `2026-01-02T02:04:05.006Z [INFO]  client.alloc_runner: Task event: type="\a" msg="é"` + "\n"},
	} {
		var text bytes.Buffer
		newEventLog(&text, hclog.Info, tt.json).write(event.Event{Time: at, Body: tt.body})
		if got := text.String(); got != tt.want {
			t.Errorf("%+v: %q\nwant %q", tt.body, got, tt.want)
		}
	}
}
