package node

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// Events are shown as lines of a Nomad agent's log.
func TestLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	alloc := &event.Alloc{ID: "a1"}
	const (
		begin = "2026-01-02T03:04:05.000Z "
		of    = ": alloc_id=a1"
		runs  = "client.alloc_runner"
	)
	for _, c := range []struct {
		event event.Event
		want  string
	}{
		{event.Event{Alloc: alloc, Task: "t", Body: event.TaskState{State: "dead"}}, "[DEBUG] " + runs + ".task_runner: task state" + of + " task=t state=dead"},
		{event.Event{Alloc: alloc, Body: event.AllocStatus{Status: "failed", Description: "d"}}, "[DEBUG] " + runs + ": allocation status" + of + " status=failed description=d"},
		{event.Event{Alloc: alloc, Body: event.AllocHealth{Healthy: true}}, "[DEBUG] " + runs + ": allocation is healthy" + of},
		{event.Event{Alloc: alloc, Body: event.AllocHealth{}}, "[DEBUG] " + runs + ": allocation is unhealthy" + of},
		{event.Event{Alloc: alloc, Body: event.Service{Registered: true, Name: "s", ID: "i"}}, "[DEBUG] " + runs + ": service registered" + of + " service=s id=i"},
		{event.Event{Alloc: alloc, Body: event.Service{Name: "s", ID: "i"}}, "[DEBUG] " + runs + ": service deregistered" + of + " service=s id=i"},
		{event.Event{Alloc: alloc, Body: event.Check{Service: "s", Check: "c", Status: "success"}}, "[DEBUG] " + runs + ": check" + of + " service=s check=c status=success"},
		{event.Event{Body: event.Deployment{Job: "j", ID: "d1", Status: "failed", Description: "it failed"}}, "[DEBUG] nomad.deployments_watcher: it failed: job=j deployment_id=d1 status=failed"},
		{event.Event{Body: event.Notice{Text: "hello"}}, "[INFO]  taskrun: hello"},
		{event.Event{Alloc: alloc, Task: "t", Body: event.Gap{}}, ""},
		{
			event.Event{Alloc: alloc, Task: "t", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskStarted, DisplayMessage: "m"}}},
			"[INFO]  " + runs + ".task_runner: Task event" + of + " task=t type=Started msg=m",
		},
		{
			event.Event{Alloc: alloc, Task: "t", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskDriverFailure, DisplayMessage: "m", Details: map[string]string{"fails_task": "true"}}}},
			"[ERROR] " + runs + `.task_runner: Task event` + of + ` task=t type="Driver Failure" msg=m`,
		},
	} {
		var out bytes.Buffer
		c.event.Time = at.In(time.FixedZone("", 3600))
		newEventLog(&out, hclog.Trace, false).write(c.event)
		if c.want != "" {
			c.want = begin + c.want + "\n"
		}
		if out.String() != c.want {
			t.Errorf("%+v: %q\nwant %q", c.event.Body, out.String(), c.want)
		}
	}
}

// Only those that follow the requests get them, as lines.
func TestFollowedRequests(t *testing.T) {
	t.Parallel()
	var q Requests
	var out bytes.Buffer
	stop := q.follow(newEventLog(&out, hclog.Debug, false))
	q.Ended("GET", "/v1/jobs", time.Now())
	if !bytes.Contains(out.Bytes(), []byte(" [DEBUG] http: request complete: method=GET path=/v1/jobs duration=")) {
		t.Errorf("%q", out.String())
	}
	stop()
	before := out.Len()
	q.Ended("GET", "/v1/jobs", time.Now())
	if out.Len() > before {
		t.Errorf("after the end: %q", out.Bytes()[before:])
	}
}

// broken is a client that is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A line is sent in small pieces, or whole as plain text.
func TestPiecesOfALine(t *testing.T) {
	t.Parallel()
	line := bytes.Repeat([]byte("x"), monitorPiece+1)
	var plain, frames bytes.Buffer
	if err := errors.Join(logged(&rest.Frames{W: &plain, Plain: true}, line), logged(&rest.Frames{W: &frames}, line)); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(plain.Bytes(), line) || bytes.Count(frames.Bytes(), []byte(`"FileEvent":"log"`)) != 2 {
		t.Errorf("%q, %q", plain.Bytes(), frames.Bytes())
	}
	if err := logged(&rest.Frames{W: broken{}, Plain: true}, line); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

// Metrics of one name share a header, and their labels are quoted.
func TestExposedMetrics(t *testing.T) {
	t.Parallel()
	got := string(expose([]byte("before\n"), "gauge", []api.GaugeValue{
		{Name: "nomad.a", Value: 1},
		{Name: "nomad.b.c", Value: 2.5, DisplayLabels: map[string]string{"x": "1", "a": "\"\\\n"}},
		{Name: "nomad.b.c", Value: 3, DisplayLabels: map[string]string{"x": "2"}},
	}))
	want := `before
# HELP nomad_a nomad_a
# TYPE nomad_a gauge
nomad_a 1
# HELP nomad_b_c nomad_b_c
# TYPE nomad_b_c gauge
nomad_b_c{a="\"\\\n",x="1"} 2.5
nomad_b_c{x="2"} 3
`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A name of metadata consists of identifiers with dots between them.
func TestNamesOfMetadata(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "é": true, "a-b_1": true, "a.b1": true, "a-": true,
		"1": false, "-a": false, "_a": false, "a b": false, "a.": false, ".a": false, "a.1": false, "a+": false, "": false,
	} {
		if err := checkMeta(map[string]*string{name: nil}); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The deviation of two durations is that of a sample.
func TestDeviation(t *testing.T) {
	t.Parallel()
	var d durations
	for _, ms := range []float64{2, 4} {
		if got := d.deviation(); got != 0 {
			t.Errorf("of %d durations: %v", d.n, got)
		}
		d.add(ms)
	}
	if got := d.deviation(); got < 1.414 || got > 1.415 {
		t.Errorf("of 2 and 4: %v", got)
	}
}
