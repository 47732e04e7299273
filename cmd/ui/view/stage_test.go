package view

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin is the start of every run in these tests.
var begin = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// stage sends the events of a run to a display.
type stage struct {
	t      *testing.T
	bus    event.Bus
	sub    *event.Subscription
	d      *Display
	now    time.Time
	window *window       // both streams of a terminal
	screen *bytes.Buffer // everything written to the terminal
	out    *bytes.Buffer
	err    *bytes.Buffer
}

// newStage returns a stage with a terminal of the given columns; with 0 columns
// the streams are pipes.
func newStage(t *testing.T, columns int, opts Options) *stage {
	t.Helper()
	if opts.Begin.IsZero() {
		opts.Begin = begin
	}
	s := &stage{t: t, now: opts.Begin}
	var streams *ui.Streams
	streams, s.out, s.err = ui.Test()
	if columns > 0 {
		s.screen = new(bytes.Buffer)
		s.window = &window{to: s.screen}
		streams.Out, streams.Err = s.window, s.window
		streams.OutTerm, streams.ErrTerm = true, true
		streams.Env = terminal(columns)
	}
	if opts.Color == "" {
		opts.Color = ui.ColorNever
	}
	s.d = New(streams, opts)
	s.sub = s.bus.Subscribe(true)
	return s
}

// window is a terminal that a test may look at while a display writes there.
type window struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (w *window) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// next returns what was written since the last call.
func (w *window) next() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.to.Reset()
	return w.to.String()
}

// terminal returns the environment of a terminal with the given columns.
func terminal(columns int) func(string) string {
	return func(name string) string {
		return map[string]string{"TERM": "xterm", "COLUMNS": strconv.Itoa(columns)}[name]
	}
}

// after lets time pass.
func (s *stage) after(d time.Duration) *stage {
	s.now = s.now.Add(d)
	return s
}

func (s *stage) say(a *event.Alloc, task string, body event.Body) {
	if e, ok := body.(event.TaskEvent); ok {
		e.Time = s.now.UnixNano()
	}
	s.bus.PublishAt(s.now, a, task, body)
}

func (s *stage) happens(a *event.Alloc, task string, events ...*api.TaskEvent) {
	for _, e := range events {
		s.say(a, task, event.TaskEvent{TaskEvent: e})
	}
}

func (s *stage) running(a *event.Alloc, task string, restarts uint64) {
	s.happens(a, task, event.Started())
	s.say(a, task, event.TaskState{State: "running", Restarts: restarts})
}

// dies ends a task with an exit code and, unless reason is empty, fails it.
func (s *stage) dies(a *event.Alloc, task string, code int, restarts uint64, reason string) {
	s.happens(a, task, event.Terminated(code, 0, false, nil))
	if reason != "" {
		s.happens(a, task, event.NotRestarting(reason))
	}
	s.say(a, task, event.TaskState{State: "dead", Failed: reason != "", Restarts: restarts, ExitCode: &code})
}

func (s *stage) writes(a *event.Alloc, task string, stream event.Stream, text string) {
	s.say(a, task, event.Output{Stream: stream, Source: source(text), Length: int64(len(text))})
}

// shows lets the display process all events and become idle.
func (s *stage) shows() {
	for s.sub.Ready() {
		e, _ := s.sub.Next(s.t.Context())
		s.d.show(e)
	}
	s.d.idle()
}

// ends shows the rest of the run and its end.
func (s *stage) ends(r Result) {
	s.bus.Close()
	s.d.Run(s.t.Context(), s.sub)
	r.Time = s.now
	s.d.End(r)
}

// source is output in memory.
type source string

func (s source) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(s)).ReadAt(p, off)
}
func (source) Retain()  {}
func (source) Release() {}

// brokenSource is output that can no longer be read.
type brokenSource struct{ source }

func (brokenSource) ReadAt([]byte, int64) (int, error) { return 0, errors.New("disk on fire") }

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

// job returns a canonical batch job of one group.
func job(id string, count int, tasks ...*api.Task) *api.Job {
	j := api.NewBatchJob(id, id, "global", 50)
	g := api.NewTaskGroup("app", count)
	g.Tasks = tasks
	j.TaskGroups = []*api.TaskGroup{g}
	j.Canonicalize()
	return j
}

func task(name string) *api.Task { return api.NewTask(name, "raw_exec") }

func hooked(name, hook string, sidecar bool) *api.Task {
	t := task(name)
	t.Lifecycle = &api.TaskLifecycle{Hook: hook, Sidecar: sidecar}
	return t
}

func alloc(job string, index int, id string) *event.Alloc {
	return &event.Alloc{
		Job: job, Group: "app", Name: job + ".app[" + string(rune('0'+index)) + "]",
		ID: id + "-0000-0000-0000-000000000000",
	}
}

var _ io.ReaderAt = source("")
